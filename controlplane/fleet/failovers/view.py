"""A pair of clusters, as values. Made by `controlplane.fleet.failovers.fold.evolve`, changed by nothing else.

    SEEDING -> STANDBY -> PREPARING -> FLIPPING -> FENCING -> DRAINING -> ALIGNING -> PROMOTING -> REVERSING -> SEEDING
                              |            |           +---- (unplanned, or cold) --------^  |         (cold: SEEDING)
                              +------------+-----------+-----------+----------+--------------+-> ABORTING -> SEEDING

A promotion that was requested is not aborted: the way back is another failover. After an abort, and behind a promotion,
the standby is seeded anew, which is quick where its replicator ran on, or goes on from where the other one ended.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType

from events.failover_facts import TopicEnds
from events.spec.failover_model import KafkaFailoverDocument


class PairState(StrEnum):
    """How far a pair is."""

    SEEDING = "Seeding"
    STANDBY = "Standby"
    PREPARING = "Preparing"
    FLIPPING = "Flipping"
    FENCING = "Fencing"
    DRAINING = "Draining"
    ALIGNING = "Aligning"
    PROMOTING = "Promoting"
    REVERSING = "Reversing"
    ABORTING = "Aborting"


ABORTABLE = frozenset(
    {
        PairState.PREPARING,
        PairState.FLIPPING,
        PairState.FENCING,
        PairState.DRAINING,
        PairState.ALIGNING,
        PairState.PROMOTING,
    }
)


class DoorState(StrEnum):
    """What is known of a cluster's door."""

    OPEN = "open"
    OPENING = "opening"
    CLOSING = "closing"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Door:
    """Where clients of a cluster come in. `epoch`: of the last order; what agents tell of an earlier one counts for
    nothing."""

    state: DoorState
    epoch: int
    at: datetime | None = None
    """When that order was recorded; None where only its fact is known."""

    @property
    def is_shut(self) -> bool:
        """Whether it is proved that nobody comes in, nor will by what was ordered."""
        return self.state is DoorState.CLOSED


@dataclass(frozen=True, slots=True)
class OrderView:
    """The failover, or the way back, in hand. The rest says how far it is."""

    id: str
    planned: bool
    first_epoch: int
    """Doors that it closes or opens have this epoch or a later one."""
    names_lead_to: str = ""
    took_over_flip: bool = False
    """It took the place of one whose flip back was not proved."""
    aligns: bool = False
    replicator_stops: bool = False
    is_promoted: bool = False
    """The point of no return is behind it."""
    ends: Mapping[str, TopicEnds] = field(default_factory=dict)
    """By topic, how much was copied when copying ended."""


@dataclass(frozen=True, slots=True)
class EndedOrder:
    """The last failover that is over: its standby was promoted, or all was led back. `ends`: by topic, how much of the
    old primary's was copied, so that the way back goes on there. `only_there`: by partition, records that the new
    primary has not, at most, as its brokers told later."""

    id: str
    is_promoted: bool
    ends: Mapping[str, TopicEnds] = field(default_factory=dict)
    only_there: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PairDeclaration:
    """What was declared of it last, and where. `generation` counts documents from 1; `source` is `api` or
    `git:BINDING`."""

    document: KafkaFailoverDocument
    generation: int
    by: str
    at: datetime
    source: str
    path: str
    commit: str
    undeclared: str = ""
    """The commit as of which no file of its source declares it any more; "" while one does, or it is of no file."""

    @property
    def is_git(self) -> bool:
        """Whether a file of a git source declared it."""
        return self.source.startswith("git:")


@dataclass(frozen=True, slots=True)
class PairView:
    """Everything the events say of one pair. Which cluster is which is by uid."""

    name: str = ""
    uid: str = ""
    version: int = 0
    declaration: PairDeclaration | None = None
    """None of one that was recorded without its document."""
    is_withdrawn: bool = False
    """It is no pair any more, for ever."""
    state: PairState = PairState.SEEDING
    primary: str = ""
    standby: str = ""
    is_warm: bool = False
    doors: Mapping[str, Door] = field(default_factory=lambda: MappingProxyType({}))
    names_lead_to: str = ""
    """The cluster the pair's name leads to, or is about to."""
    flow: tuple[str, str] | None = None
    """What may be copied: from that cluster to that one."""
    flows: int = 0
    """How many there have been, the one in hand with them: what was copied for another one is not of this one."""
    replicator_at: str = ""
    """The VM of the standby that is to copy, by its instance's key; "" where none is."""
    order: OrderView | None = None
    ended: EndedOrder | None = None
    may_diverge: bool = False
    """The standby was the primary, and may have records that the primary has not: nothing proved it drained."""
    last_epoch: int = 0
    missed: str = ""
    """Which order a VM has that is not in the events: they are those of a backup, and nothing is done to the pair."""
    unreadable: str = ""
    """Why the history cannot be understood: nothing is done to the pair then."""

    @property
    def stands_still(self) -> str:
        """Why nothing is done to it, "" where something may be."""
        return self.unreadable or self.missed

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing is done to either cluster: no order is in hand."""
        return self.order is None

    @property
    def copies(self) -> tuple[str, str] | None:
        """From which cluster to which one is to be copied now; None where that is to end, or has."""
        stops = self.order is not None and self.order.replicator_stops
        return None if stops or self.is_withdrawn or self.stands_still else self.flow
