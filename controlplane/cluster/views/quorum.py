"""Who votes on a cluster's metadata, and what changes that: from its founding to a migration out of ZooKeeper."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from controlplane.cluster.views.migration import MigrationView
from events import facts
from events.spec.model import KafkaClusterDocument


@dataclass(frozen=True, slots=True)
class VoterChangeView:
    """The change of the quorum's voters in hand. `adds`, else the voter leaves; `leaves`: and its node with it."""

    id: str
    adds: bool
    voter: facts.FoundingVoter
    leaves: bool
    reason: str
    requested_at: datetime


@dataclass(frozen=True, slots=True)
class QuorumView:
    """The quorum that holds the metadata: of controllers, or the servers of a ZooKeeper ensemble."""

    controller_ids: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    founding: facts.QuorumFounded | None = None
    voters: Mapping[int, facts.FoundingVoter] = field(default_factory=lambda: MappingProxyType({}))
    """Who votes in the quorum, by id, as far as is recorded: what new starts are told."""
    protocol: str = ""
    """ZooKeeper mode: the `inter.broker.protocol.version` of new starts, "" before the ensemble was founded."""
    cluster_id_fixed: bool = False
    """ZooKeeper mode: the ensemble holds the cluster's id, so brokers may start."""
    ensemble_spec: KafkaClusterDocument | None = None
    """The last spec of mode `zookeeper`, for as long as the metadata is in ZooKeeper."""
    migration: MigrationView | None = None
    """The way to KRaft, or back, that is in hand."""
    left_voters: tuple[facts.FoundingVoter, ...] = ()
    """Members of the quorum that the last migration left without work: what those that are not retired yet are told."""
    change: VoterChangeView | None = None
    changes: int = 0
    """Changes of voters begun, ever."""
    lost_volumes: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Volumes of controllers that hold nothing any more, by key, and how that is known; of servers beside brokers their
    directories, by id."""
