"""What is told of at one scrape, gathered once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from agent.wire import Report
from controlplane.api.audit.status import TopicStatus
from controlplane.api.read_models.broker_figures import Measured
from controlplane.api.server_load import LoadFigures
from controlplane.background.anomalies.forecasts import Forecasts
from controlplane.background.anomalies.record import AnomaliesNoted
from controlplane.background.notifications.service import NotifierSeen
from controlplane.cluster.observed.cloud_drift import Noted
from controlplane.cluster.observed.consumer_groups import GroupsNoted
from controlplane.cluster.view import ClusterView
from controlplane.converger.tick.report import Said
from controlplane.fleet.failovers.seen import CopySeen
from planner.observed import KafkaSnapshot
from spark.pipeline.status import PipelineStatus
from spark.plan_jobs import PlanningTotals


@dataclass(frozen=True, slots=True)
class ClusterSnapshot:
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
    anomalies: AnomaliesNoted | None = None
    """Its open anomalies, where any was ever found."""
    drift: Noted = field(default_factory=dict)
    """The last audits of its places in the clouds."""
    forecasts: Forecasts = field(default_factory=dict)
    """By broker, when its disk is full or it is busy; none where no trend is young."""
    measured: Mapping[int, Measured] = field(default_factory=dict)
    """By broker, its newest minute in the metric lake, where that is young."""


@dataclass(frozen=True, slots=True)
class PairSnapshot:
    """A pair of clusters, by their names. `copy`: to the standby of a warm one, as last found; None: nobody knows."""

    name: str
    primary: str
    standby: str
    state: str
    is_warm: bool = False
    is_running: bool = False
    copy: CopySeen | None = None


@dataclass(frozen=True, slots=True)
class ServerSnapshot:
    """The whole server at one time."""

    now: datetime
    version: str
    leads: bool
    epoch: int
    planner: str
    clusters: tuple[ClusterSnapshot, ...]
    pairs: tuple[PairSnapshot, ...] = ()
    """Those the caller may see."""
    notifiers: Sequence[NotifierSeen] = ()
    audit_topic: TopicStatus | None = None
    pipeline: PipelineStatus | None = None
    """How metrics are read, of streams those of clusters that are here, by their names."""
    plans: PlanningTotals | None = None
    load: LoadFigures | None = None
    """Of the process that answers."""
    part: str = ""
    """Which part of a server that is."""
    is_ready: bool = True
