"""A migration from ZooKeeper to KRaft as it is recorded: who was told of what, and which nodes are wanted meanwhile."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from controlplane.kafka.zookeeper.migration import Goal, Knows
from events.facts import FoundingVoter, QuorumFounded
from events.spec.model import KafkaClusterDocument


@dataclass(frozen=True, slots=True)
class MigrationView:
    """The migration in hand. `since` is when its last step was recorded, and `last` whom that was about, by id."""

    goal: Goal
    generation: int
    since: datetime
    spec: KafkaClusterDocument
    """The spec of mode `kraft` it was begun for: its controllers are wanted until it has ended."""
    founding: QuorumFounded | None = None
    """The controllers that are to take over, None until each of them has its address."""
    knows: Mapping[int, Knows] = field(default_factory=lambda: MappingProxyType({}))
    """By id, what brokers and controllers were told last; nobody is in it before a step was about it."""
    last: tuple[int, ...] = ()
    krafts_since: datetime | None = None
    """When the last broker was told of the quorum alone; None while any is told of the ensemble."""
    has_no_way_back: bool = False
    """A controller was told of the quorum alone."""
    has_stopped_controllers: bool = False
    """It was going back, and its controllers are of no more use: it goes all the way back, and begins anew."""

    @property
    def voters(self) -> tuple[FoundingVoter, ...]:
        """The controllers, by id."""
        return self.founding.voters if self.founding else ()

    def released(self) -> tuple[int, ...]:
        """Controllers that were told of the quorum alone, by id."""
        return tuple(v.id for v in self.voters if self.knows.get(v.id) is Knows.QUORUM)

    def last_sent(self, service: str, number: int) -> Knows:
        """What that broker or controller was told last."""
        return self.knows.get(number, Knows.ENSEMBLE if service == "broker" else Knows.STOPPED)


def with_both_quorums(
    declared: KafkaClusterDocument, ensemble: KafkaClusterDocument, migration: MigrationView | None
) -> KafkaClusterDocument:
    """The spec whose nodes are wanted while the metadata is in ZooKeeper and the declared one is, or was, of mode
    `kraft`: the brokers of the declared one, the servers of the last one of mode `zookeeper`, and the controllers from
    the beginning of the migration on."""
    if migration is None:
        return ensemble
    servers = tuple(p for p in ensemble.spec.pools if p.is_quorum)
    controllers = tuple(p for p in migration.spec.spec.pools if p.is_quorum)
    pools = (*servers, *controllers, *declared.spec.broker_pools)
    spec = declared.spec.model_copy(update={"kafka": ensemble.spec.kafka, "pools": pools})
    return declared.model_copy(update={"spec": spec})
