"""The folded state of a cluster's topics, as values. Made by `controlplane.cluster.folds.topics`, changed by nothing
else."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from events.topic_facts import ReplicaMove, TopicDeclaration, TopicTrouble


@dataclass(frozen=True, slots=True)
class TopicView:
    """One declared topic. `owned`: Kedge made it or was told to keep it; before that nothing of it is changed."""

    declared: TopicDeclaration
    source: str
    path: str
    commit: str
    declared_at: datetime
    owned: bool = False
    undeclared: bool = False
    """No file of its git source declares it any more."""
    tombstone: str = ""
    """Why it is being deleted, "" when it is not."""
    policy: str = "retain"
    """What its deletion does."""

    @property
    def name(self) -> str:
        return self.declared.name

    @property
    def is_git(self) -> bool:
        return self.source.startswith("git:")


@dataclass(frozen=True, slots=True)
class TopicChangeView:
    """The change of topics in hand."""

    id: str
    create: tuple[str, ...]
    grow: Mapping[str, int]
    configure: Mapping[str, Mapping[str, str | None]]
    delete: tuple[str, ...]
    requested_at: datetime

    @property
    def names(self) -> frozenset[str]:
        return frozenset((*self.create, *self.grow, *self.configure, *self.delete))


@dataclass(frozen=True, slots=True)
class ReplicationView:
    """The batch of replicas in hand. `cause`: why they move, as in `ReplicationRequested`."""

    id: str
    moves: tuple[ReplicaMove, ...]
    requested_at: datetime
    cause: str = "topics"


@dataclass(frozen=True, slots=True)
class FactorView:
    """How many replicas a person wants each partition of a topic to have, until it has them."""

    factor: int
    reason: str
    requested_at: datetime
    below_min_isr: bool = False


@dataclass(frozen=True, slots=True)
class TopicsView:
    """The topics that were declared for a cluster, by name."""

    by_name: Mapping[str, TopicView] = field(default_factory=lambda: MappingProxyType({}))
    pending: frozenset[str] = frozenset()
    """Declared, and not yet seen to be so. What is in trouble is not: it is looked at again from time to time."""
    change: TopicChangeView | None = None
    changes: int = 0
    """Changes begun, ever."""
    replication: ReplicationView | None = None
    batches: int = 0
    """Batches of replicas begun, ever."""
    handed_over_at: datetime | None = None
    """When leaders of a hot broker were last handed over to others."""
    troubles: Mapping[str, TopicTrouble] = field(default_factory=lambda: MappingProxyType({}))

    factors: Mapping[str, FactorView] = field(default_factory=lambda: MappingProxyType({}))
    """What people asked for topics that no document declares, by name."""

    @property
    def has_work(self) -> bool:
        return bool(self.pending or self.change or self.replication or self.factors)
