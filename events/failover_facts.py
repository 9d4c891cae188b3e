"""A pair of clusters of which one takes over from the other: facts of the pair's own stream, and of the one stream in
which clusters are given to pairs.

A door is where a cluster's clients come in. Each order to close or open one has an epoch, counted by the pair, so that
an answer to an earlier order is no proof of a later one. `order`: the failover, or the way back, that an event is of.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from events.registry import fact

DoorProof = Literal["agents", "inventory", "certified"]
"""Who knows that a door is closed: every VM's agent at that epoch, the cloud that none of them runs, or a person."""


@fact("failover.registered", schema=1)
@dataclass(frozen=True, slots=True)
class PairRegistered:
    """Those clusters, by uid, are of the pair `uid` until that is withdrawn. In the stream of all pairs, so that of two
    pairs that are declared at once one gets a cluster."""

    uid: str
    pair: str
    clusters: tuple[str, ...]


@fact("failover.declared", schema=1)
@dataclass(frozen=True, slots=True)
class FailoverDeclared:
    """Two clusters, by uid, are a pair from here on. `primary` serves clients; `standby` is to close its door.
    `document` is the whole document in its storage version; `source` is `api` or `git:BINDING`, `path` the file."""

    pair: str
    primary: str
    standby: str
    mode: Literal["cold", "warm"]
    document: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""
    path: str = ""
    commit: str = ""


@fact("failover.spec_changed", schema=1)
@dataclass(frozen=True, slots=True)
class PairSpecChanged:
    """The pair is of the same clusters and mode, and to be as this document says."""

    document: Mapping[str, Any]
    source: str
    path: str
    commit: str


@fact("failover.undeclared", schema=1)
@dataclass(frozen=True, slots=True)
class PairUndeclared:
    """No file of the git source that declared it does so any more, as of that commit. The pair stays as it is; a person
    withdraws it, or declares it elsewhere."""

    commit: str


@fact("failover.withdrawn", schema=1)
@dataclass(frozen=True, slots=True)
class PairWithdrawn:
    """It is no pair any more, for ever: each cluster is its own again. A pair of the same name is another one."""

    reason: str


@fact("failover.copy_requested", schema=1)
@dataclass(frozen=True, slots=True)
class CopyRequested:
    """The standby is to get what the primary has. `seeds`: offsets from which on, by topic and partition (`orders-0`),
    where it has the records before; of others all."""

    seeds: Mapping[str, int]


@fact("failover.replicator_placed", schema=1)
@dataclass(frozen=True, slots=True)
class ReplicatorPlaced:
    """That VM of the standby, by its instance's key, is to copy; `""`: none is, until every other is known not to."""

    cluster: str
    key: str


@fact("failover.seeded", schema=1)
@dataclass(frozen=True, slots=True)
class StandbySeeded:
    """The standby is what it is to be while it waits; that of a warm pair has caught up."""

    detail: str


@fact("failover.requested", schema=1)
@dataclass(frozen=True, slots=True)
class FailoverRequested:
    """The standby is to take over. `planned`: with all records, while the primary is there."""

    order: str
    planned: bool
    reason: str


@fact("failover.standby_ready", schema=1)
@dataclass(frozen=True, slots=True)
class StandbyReady:
    """It is large enough, has every topic with leaders and copies in sync, and producer ids of its own."""

    order: str
    detail: str


@fact("failover.names_flip_requested", schema=1)
@dataclass(frozen=True, slots=True)
class NamesFlipRequested:
    """The pair's name is to lead to that cluster."""

    order: str
    to: str


@fact("failover.names_flipped", schema=1)
@dataclass(frozen=True, slots=True)
class NamesFlipped:
    """Every authoritative server says so, and answers of before are over."""

    order: str
    to: str


@fact("failover.door_close_requested", schema=1)
@dataclass(frozen=True, slots=True)
class DoorCloseRequested:
    """Agents of that cluster are to end all connections of clients, and to let none in."""

    order: str
    cluster: str
    epoch: int


@fact("failover.door_closed", schema=1)
@dataclass(frozen=True, slots=True)
class DoorClosed:
    """Nobody comes in there since the order of that epoch."""

    cluster: str
    epoch: int
    proof: DoorProof
    detail: str


@dataclass(frozen=True, slots=True)
class TopicEnds:
    """How much of a topic was copied, by partition from 0 on: what the primary has before `primary`, the standby has
    before `standby`, where its log ended. `standby_id`: Kafka's own id of the standby's topic."""

    standby_id: str
    primary: tuple[int, ...]
    standby: tuple[int, ...]


@fact("failover.drained", schema=1)
@dataclass(frozen=True, slots=True)
class PairDrained:
    """The standby has all records: ends and last records of every partition are those of the primary. `topics`: by
    name; empty where that was not written down."""

    order: str
    partitions: int
    topics: Mapping[str, TopicEnds] = field(default_factory=dict)


@fact("failover.offsets_align_requested", schema=1)
@dataclass(frozen=True, slots=True)
class OffsetsAlignRequested:
    """Groups are to get on the standby the offsets they have on the primary."""

    order: str


@fact("failover.offsets_aligned", schema=1)
@dataclass(frozen=True, slots=True)
class OffsetsAligned:
    """They have. By group, how many records it may read again."""

    order: str
    again: Mapping[str, int]


@fact("failover.replicator_stop_requested", schema=1)
@dataclass(frozen=True, slots=True)
class ReplicatorStopRequested:
    """Nothing is to be copied any more."""

    order: str


@fact("failover.replicator_stopped", schema=1)
@dataclass(frozen=True, slots=True)
class ReplicatorStopped:
    """Every one of its processes has ended, as its agent or the cloud says. `topics`: of an unplanned failover, how
    much was copied; empty where the standby's brokers did not tell in time."""

    order: str
    detail: str
    topics: Mapping[str, TopicEnds] = field(default_factory=dict)


@fact("failover.promotion_requested", schema=1)
@dataclass(frozen=True, slots=True)
class PromotionRequested:
    """The point of no return: the standby's door is to be opened, from here on only a way back leads back."""

    order: str
    cluster: str
    epoch: int


@fact("failover.door_opened", schema=1)
@dataclass(frozen=True, slots=True)
class DoorOpened:
    """Its agents let clients in, by the order of that epoch."""

    cluster: str
    epoch: int


@fact("failover.promoted", schema=1)
@dataclass(frozen=True, slots=True)
class PairPromoted:
    """What was the standby is the primary."""

    order: str


@fact("failover.divergence_judged", schema=1)
@dataclass(frozen=True, slots=True)
class DivergenceJudged:
    """Behind an unplanned failover the old primary's brokers tell what they have. `only_there`: by partition
    (`orders-0`), how many records the new primary has not, at most; none: it is a true beginning of the new one."""

    order: str
    only_there: Mapping[str, int]


@fact("failover.abort_requested", schema=1)
@dataclass(frozen=True, slots=True)
class FailoverAbortRequested:
    """All is to be as before the order: the primary's door, by an order of that epoch, and the pair's name."""

    order: str
    epoch: int
    reason: str


@fact("failover.aborted", schema=1)
@dataclass(frozen=True, slots=True)
class FailoverAborted:
    """It is."""

    order: str


@fact("failover.epochs_missed", schema=1)
@dataclass(frozen=True, slots=True)
class EpochsMissed:
    """A VM keeps an order of a door that the pair's events do not have: they are those of a backup from before. Nothing
    of the pair is carried on from here on, until a person withdraws it. `epoch`: of that order."""

    cluster: str
    key: str
    epoch: int
