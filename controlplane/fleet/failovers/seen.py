"""What is seen of a pair beside its events, as values. None where nobody has told it: unknown is not shut, not stopped
and not 0."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from events.failover_facts import DoorProof, EpochsMissed, TopicEnds


@dataclass(frozen=True, slots=True)
class DoorSeen:
    """The door of a cluster by the order of that epoch: `is_shut` on every VM, or open. `proof`: who tells."""

    epoch: int
    is_shut: bool
    proof: DoorProof
    detail: str


@dataclass(frozen=True, slots=True)
class NamesSeen:
    """The cluster the pair's name leads to by every authoritative server, and whether answers of before are over."""

    lead_to: str
    is_settled: bool


@dataclass(frozen=True, slots=True)
class StandbyBuild:
    """How far the standby is with what it has to be. `topics_left`: those that are missing, or have partitions without
    a leader or with too few replicas in sync. `has_own_ids`: whether producer ids of the two never meet."""

    brokers: int
    topics: int
    topics_left: tuple[str, ...]
    has_own_ids: bool


@dataclass(frozen=True, slots=True)
class ReplicatorsSeen:
    """VMs of the standby as far as they copy, or may. `eligible`: by key, those that could, the best first;
    `lacking`: by key, why a VM is not known to copy nothing. `is_running`: the one that is to copy says that it
    does."""

    eligible: tuple[str, ...] = ()
    lacking: Mapping[str, str] = field(default_factory=dict)
    is_running: bool = False


@dataclass(frozen=True, slots=True)
class CopySeen:
    """How far the copy is. `lag_records`: of partitions (`orders-0`) known to be behind, `lag_s` of the slowest.
    `drained`: by topic where both logs end, once ends and last records of all of them are those of the primary."""

    lag_s: float | None = None
    lag_records: Mapping[str, int] = field(default_factory=dict)
    drained: Mapping[str, TopicEnds] | None = None
    gaps: Mapping[str, int] = field(default_factory=dict)
    """Records that retention took at the primary before they are known to be copied, at most, by partition: the
    standby may never get them."""
    problem: str = ""
    """What of it is not known, and why, in words."""


@dataclass(frozen=True, slots=True)
class PairSeen:
    """All of it at one time. `pause_s`: how long producers have been held by the order in hand. `seeds`: where a copy
    to the standby goes on, by topic and partition; None while nobody knows. `aligned`: records that groups read again,
    by group, once their offsets are on the standby."""

    doors: Mapping[str, DoorSeen] = field(default_factory=dict)
    names: NamesSeen | None = None
    standby: StandbyBuild | None = None
    replicators: ReplicatorsSeen | None = None
    copy: CopySeen | None = None
    seeds: Mapping[str, int] | None = None
    aligned: Mapping[str, int] | None = None
    ends: Mapping[str, TopicEnds] | None = None
    """By topic, how much is on the standby once nothing is copied any more; None while nobody knows."""
    only_there: Mapping[str, int] | None = None
    """As in `DivergenceJudged`; None while nobody knows."""
    pause_s: float | None = None
    obstacles: tuple[str, ...] = ()
    """What keeps the standby from taking over and does not go by itself, whatever its brokers say."""
    may_share_ids: bool = False
    """Producer ids of the two are not known to be apart."""
    missed: EpochsMissed | None = None
    """A VM keeps an order that is not in the events."""


NOTHING_SEEN = PairSeen()
