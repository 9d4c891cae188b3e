"""What is told of at one scrape, gathered once."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from agent.wire import Report
from controlplane.converger.loop import Said
from controlplane.groups.record import GroupsNoted
from controlplane.view import ClusterView
from planner.observed import KafkaSnapshot


@dataclass(frozen=True, slots=True)
class ClusterSight:
    """One living cluster: its fold, its last tick, its metadata, and the reports of its agents by instance key."""

    view: ClusterView
    status: str
    said: Said | None
    snapshot: KafkaSnapshot | None
    reports: Mapping[str, tuple[Report, datetime]]
    names: Mapping[str, str]
    """DNS name -> what stands in its way, "" for nothing."""
    source_sync: str
    """`Synced`, `OutOfSync` and so on; "" for a cluster that is declared through the API."""
    groups: GroupsNoted | None = None
    """The last look at its consumer groups, however old."""


@dataclass(frozen=True, slots=True)
class Sight:
    """The whole server at one time."""

    now: datetime
    version: str
    leads: bool
    epoch: int
    planner: str
    clusters: tuple[ClusterSight, ...]
