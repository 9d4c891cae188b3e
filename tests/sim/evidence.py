"""What a simulated world remembers of its past: things that are over by the time the properties are judged."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from planner.observed import PartitionSeen


class Violation(AssertionError):
    """A property that must always hold does not."""


@dataclass(frozen=True, slots=True)
class Deletion:
    """A VM with a broker on it was deleted while these many replicas were at home on its disk, and on no other's."""

    key: str
    broker: int
    replicas: int
    alive: bool


@dataclass(frozen=True, slots=True)
class Fence:
    """Somebody was asked to stop a serving process: what else was down at that moment."""

    key: str
    service: str
    replicas: int
    others_down: tuple[int, ...]
    others_up: int
    voters: int
    others_away: tuple[int, ...] = ()
    """Brokers that held replicas, or were to serve, and did not or were being stopped; () where this one was no loss:
    it did not serve itself, held nothing, or was stopped as its own cure."""
    most_away: int = 1
    beside: tuple[str, ...] = ()
    """Brokers asked to stop at the same moment, by key."""
    most_beside: int = 0


@dataclass(frozen=True, slots=True)
class StaleWrite:
    """Something was done, or recorded, by a server whose epoch was over."""

    what: str
    epoch: int
    current: int


@dataclass(slots=True)
class Evidence:
    """Filled as things happen. Nothing in it is ever taken back."""

    deletions: list[Deletion] = field(default_factory=list)
    fences: list[Fence] = field(default_factory=list)
    stale: list[StaleWrite] = field(default_factory=list)
    created: list[str] = field(default_factory=list)
    """Instance keys, in the order their VMs were made."""
    stillborn: list[str] = field(default_factory=list)
    """Instance keys whose VM fate took before the run that made it was over: that run makes it anew, and the enrolment
    token that the first one may have used lets nobody in twice."""
    homes: dict[int, set[str]] = field(default_factory=dict)
    """Broker id -> volumes it ever started on."""
    guarded: list[str] = field(default_factory=list)
    """What stands still while a cluster rolls, and did not."""
    votes: list[str] = field(default_factory=list)
    """Changes of the quorum's voters that should not have been made as things stood."""
    clashes: list[str] = field(default_factory=list)
    """What the simulated cloud or Kafka would never stand for."""


@dataclass(slots=True)
class Calm:
    """Since when nobody but the server has done anything: then a bound holds, and rest is rest."""

    since_tick: int = 0
    nodes_to_change: int = 0
    postponed_ticks: int = 0
    """Of those, ticks that ended in a decision that named a time, yet to come, at which it is tried again."""
    quiet_ticks: int = 0
    """Ticks in a row that began at rest, with the world as it was at the tick before."""
    seen_after_ticks: int = 0
    """How many of these may pass until everything is seen: a topic that waits is looked at once a minute."""
    scene: object = None
    """The world as it was when the last tick began."""


@dataclass(frozen=True, slots=True)
class LastTick:
    """What the last tick did, and at what time."""

    at: datetime
    events: int = 0
    effects: int = 0
    crashed: bool = False
    spoke_at: Mapping[str, datetime] = field(default_factory=dict)
    """Cluster -> when its last tick ended in a sentence."""


def has_leaders_to_get_back(partitions: Iterable[PartitionSeen]) -> bool:
    """Whether a broker that was away is back in sync and leads less than it should: it gets that back within a look."""
    return any(p.replicas and p.leader != p.replicas[0] and p.replicas[0] in p.isr for p in partitions)
