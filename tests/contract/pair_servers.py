"""Servers on one store, of three clusters that can be paired."""

from datetime import UTC, datetime

from sqlalchemy import Engine

from controlplane.cluster.view import ClusterView, empty_view
from controlplane.commands.failover_declarations import DeclarePair, WithdrawPair
from controlplane.commands.failover_orders import PairOutcome
from controlplane.commands.failovers import FailoverService
from controlplane.fleet.failovers.seen import NOTHING_SEEN, PairSeen
from controlplane.fleet.failovers.state import PairCache, RegisteredPair
from controlplane.fleet.failovers.troubles import NO_TROUBLES
from events.ids import ClusterUid
from events.spec.failover_model import KafkaFailoverDocument
from events.sql_store import SqlEventStore
from events.store import EventStore
from tests.builders import a_document, a_view
from tests.fakes.event_store import MemoryEventStore

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
NAMES = ("eu", "us", "asia")


def cluster(name: str) -> ClusterView:
    document = a_document()
    own = document.model_copy(update={"metadata": document.metadata.model_copy(update={"name": name})})
    return a_view(uid=ClusterUid(f"uid-{name}"), name=name, document=own)


CLUSTERS = {name: cluster(name) for name in NAMES}


def store_on(engine: Engine | None) -> EventStore:
    """In memory without an engine."""
    return MemoryEventStore(clock=lambda: NOON) if engine is None else SqlEventStore(engine, clock=lambda: NOON)


class Server:
    """One of several on a store. `sees`: what it sees of any pair."""

    sees: PairSeen = NOTHING_SEEN

    def __init__(self, store: EventStore) -> None:
        self.store, self.cache, self._seen = store, PairCache(), 0
        self.troubles = NO_TROUBLES
        self.service = FailoverService(
            store,
            self.cache,
            lambda name: CLUSTERS.get(name, empty_view(ClusterUid(""))),
            lambda: list(CLUSTERS.values()),
            self.catch_up,
            seen=lambda pair: self.sees,
            in_its_way=lambda pair: self.troubles,
        )

    def catch_up(self) -> None:
        for recorded in self.store.read_all(self._seen):
            self.cache.take_in(recorded)
            self._seen = recorded.position

    def declare(self, name: str, *clusters: str, key: str = "", size: int = 3, dns: str = "") -> PairOutcome:
        return self.service.declare(wanted(name, *clusters, key=key, size=size, dns=dns))

    def declare_warm(self, name: str, *clusters: str) -> PairOutcome:
        return self.service.declare(wanted(name, *clusters, is_warm=True))

    def withdraw(self, name: str, *, key: str = "w", confirm: str = "") -> PairOutcome:
        command = WithdrawPair(
            name=name, actor="person:bob", command_id=key, confirm=confirm or name, reason="given up"
        )
        return self.service.withdraw(command)

    def get(self, name: str) -> RegisteredPair:
        return self.service.get(name)


def wanted(
    name: str, *clusters: str, key: str = "", size: int = 3, dns: str = "", is_warm: bool = False
) -> DeclarePair:
    mode = {"mode": "warm", "replication": {}} if is_warm else {"mode": "cold", "standby": {"size": size}}
    document = KafkaFailoverDocument.model_validate(
        {
            "metadata": {"name": name},
            "spec": {
                "clusters": list(clusters),
                "bootstrap": {"dns": dns or f"{name}.example"},
                **mode,
            },
        }
    )
    return DeclarePair(
        name=name, actor="person:ada", command_id=key or f"{name}{clusters}{size}", document=document, source="api"
    )
