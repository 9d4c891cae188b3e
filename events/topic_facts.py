"""What was asked and what happened to the topics of a cluster: part of its stream, see `facts`.

Topics live in the stream of their cluster, not in streams of their own: one `decide` sees them beside drains and rolls
(they share throttles, reassignments and brokers), and one fence holds for all of it. A cluster may have thousands, so
an event is about many of them at once: those of a file, those of one batch.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from events.registry import fact


@dataclass(frozen=True, slots=True)
class TopicDeclaration:
    """One topic as it is to be. `replicas` and `config` are whole: tier and the cluster's defaults are in them.

    `config` None: it was adopted as it was found, and its configuration is left alone.
    """

    name: str
    partitions: int
    replicas: int
    config: Mapping[str, str] | None
    tier: str
    owner: str
    deletion_policy: str
    on_loss: str
    labels: Mapping[str, str]
    rate_min: int | None = None
    """Records per second that are written at least, and at most; None for no such bound."""
    rate_max: int | None = None
    rate_learn: bool = False
    """Its usual rate is learned from its own past instead."""


@fact("topics.declared", schema=1)
@dataclass(frozen=True, slots=True)
class TopicsDeclared:
    """These topics are to be so. `source` is `api` or `git:BINDING`, `path` the file, `commit` "" outside git."""

    topics: tuple[TopicDeclaration, ...]
    source: str
    path: str
    commit: str


@fact("topics.undeclared", schema=1)
@dataclass(frozen=True, slots=True)
class TopicsUndeclared:
    """No file of their git source declares these any more. They stay as they are until a person deletes them."""

    names: tuple[str, ...]
    source: str
    commit: str


@fact("topics.adopted", schema=1)
@dataclass(frozen=True, slots=True)
class TopicsAdopted:
    """Topics that were made outside Kedge are kept by it from here on: differences are put right."""

    names: tuple[str, ...]
    reason: str


@fact("topics.change_requested", schema=1)
@dataclass(frozen=True, slots=True)
class TopicsChangeRequested:
    """Kafka would take these changes; they are to be made.

    `grow`: name -> partitions in all; `configure`: name -> key -> value, None takes it back. What is in `create` was
    not there: once it is, Kedge made it.
    """

    change: str
    create: tuple[str, ...]
    grow: Mapping[str, int]
    configure: Mapping[str, Mapping[str, str | None]]
    delete: tuple[str, ...]
    reason: str


@fact("topics.changed", schema=1)
@dataclass(frozen=True, slots=True)
class TopicsChanged:
    """A change has ended: Kafka shows what was asked for, but for `left`. "" where nothing had to be changed.

    `settled` are as declared from here on, their replicas too; `created` and `deleted` came into being or are gone.
    """

    change: str
    created: tuple[str, ...]
    settled: tuple[str, ...]
    deleted: tuple[str, ...]
    left: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TopicTrouble:
    """Why a topic is not as declared. `reason` is a CamelCase word, "" when the trouble is over."""

    name: str
    reason: str
    message: str


@fact("topics.troubled", schema=1)
@dataclass(frozen=True, slots=True)
class TopicsTroubled:
    """Topics that cannot be as declared, and those that can again. The others go on."""

    troubles: tuple[TopicTrouble, ...]


@dataclass(frozen=True, slots=True)
class ReplicaMove:
    """Replicas of one partition before and after, both in preferred order."""

    topic: str
    partition: int
    before: tuple[int, ...]
    after: tuple[int, ...]


@fact("topics.replication_requested", schema=1)
@dataclass(frozen=True, slots=True)
class ReplicationRequested:
    """One batch of replicas is to be added, taken away or moved, under throttles.

    `cause`: `topics`, to have as many as are declared; `zones`, to have them in zones of their own; `sets`, to
    have them in the broker set of their topic; `gone`, to replace
    those on brokers that do not exist; `leaders`, to stand in another order, where no replica comes or goes; `hot`,
    the same so that others lead what a hot broker did; `factor`, to have as many as a person asked for. `bytes`: what
    it copies, where that counts against the budget of a day.
    """

    batch: str
    moves: tuple[ReplicaMove, ...]
    reason: str
    cause: str = "topics"
    bytes: int = 0


@fact("topics.replication_ended", schema=1)
@dataclass(frozen=True, slots=True)
class ReplicationEnded:
    """No move of the batch runs any more. `done` of them arrived; the others were overtaken or taken back."""

    batch: str
    done: int
    reason: str


@fact("replication_factor.requested", schema=1)
@dataclass(frozen=True, slots=True)
class ReplicationFactorRequested:
    """A person wants every partition of these topics, which no document declares, to have `factor` replicas.

    `below_min_isr`: it may be fewer than `min.insync.replicas` asks for. `reason` names who asked, and why.
    """

    topics: tuple[str, ...]
    factor: int
    reason: str
    below_min_isr: bool = False


@fact("replication_factor.ended", schema=1)
@dataclass(frozen=True, slots=True)
class ReplicationFactorEnded:
    """Nothing more is begun for these: they have it, a person wants no more, or it cannot be had. What moved stays."""

    topics: tuple[str, ...]
    reason: str


@fact("topic.deletion_requested", schema=1)
@dataclass(frozen=True, slots=True)
class TopicDeletionRequested:
    """The tombstone of a topic, with its name typed out. Nothing else ever deletes one."""

    name: str
    policy: str
    reason: str


@fact("topic.released", schema=1)
@dataclass(frozen=True, slots=True)
class TopicReleased:
    """A topic that is retained: it stays in Kafka, Kedge does not manage it any more."""

    name: str
