"""A fake cluster on its way from ZooKeeper to KRaft, by the rules seen on Kafka 3.9.1 (docs/zookeeper.md).

Whoever starts or stops a process says so, with what its document tells it; the rest follows: who waits for whom, who
leads, what the metrics and ZooKeeper say. What no step of ours may ever do is raised.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from agent.wire import ServiceDocument
from controlplane.kafka.errors import KafkaRefused, KafkaUnavailable
from controlplane.kafka.zookeeper.migration import STATES, Knows, MigrationState
from controlplane.kafka.zookeeper.registry import RegisteredBroker, RegistrySeen
from planner.observed import Mode
from tests.fakes.kafka_controllers import FakeControllers
from tests.fakes.kafka_parts import FakeBroker

if TYPE_CHECKING:
    from tests.fakes.kafka import FakeKafka

LEVELS = {"metadata.version": 21, "kraft.version": 1}
"""What a quorum of 3.9 that is formatted for 3.9 has finalised."""

_NUMBERS = {state: number for number, state in STATES.items()}
_REFUSED = (
    "reassigning",
    "cancelling",
    "unregistering",
    "finalising",
    "validating",
    "adding voter",
    "removing voter",
    "electing another",
)
"""What the gateway takes from nobody while a cluster migrates."""
SESSION_TIMEOUT_S, ZOOKEEPER_SESSION_TIMEOUT_S = 9.0, 18.0
"""`broker.session.timeout.ms` and `zookeeper.session.timeout.ms`: a dead broker is called live for this long."""

_RUNNING = 3.0
"""`BrokerState` of a broker that serves."""


class BrokenMigration(AssertionError):
    """Something was done that no step of a migration may ever do."""


class Beside(FakeControllers):
    """The quorum that does not lead: controllers beside an ensemble, or the ensemble of a cluster a quorum leads."""

    def __init__(self, kafka: "FakeKafka") -> None:
        super().__init__()
        self.cluster_id, self.hangs, self._seconds = kafka.cluster_id, kafka.hangs, 0.0

    def at(self, seconds: float) -> "Beside":
        self._seconds = seconds
        return self


class FakeMigration:
    """Of one cluster. Until a controller is told of an ensemble it only keeps who knows what."""

    def __init__(self, kafka: "FakeKafka", brokers: Mapping[int, FakeBroker], *, in_zookeeper_mode: bool) -> None:
        self._kafka = kafka
        self._brokers = brokers
        self._beside = Beside(kafka)
        self.begun = False
        self.quorum_leads = not in_zookeeper_mode
        """The metadata is the quorum's, also while no controller runs: its claim keeps brokers from leading."""
        self.state = MigrationState.NONE
        self.has_migration = False
        self.knows: dict[int, Knows] = {}
        """What each broker and controller that runs was started with."""
        self.cuts = 0
        """How often what a quorum left in ZooKeeper was deleted."""
        self._claim = -1
        self._reigns, self._reign = -1, 0
        """The broker that leads, and how many have been elected."""
        self._controllers: set[int] = set()
        self._registered: set[int] = set()
        """Brokers in ZooKeeper mode that are registered with the quorum, running or not."""
        self._spent: set[str] = set()
        """Directories of controllers of a migration that was turned back."""
        self._volumes: dict[str, str] = {}
        """Volume -> directory id of the ensemble's servers."""

    # ---- what the machines tell ---------------------------------------------------------------------------------

    def joins(self, broker: FakeBroker) -> None:
        """A broker that nobody said more of is of the mode the cluster is in."""
        knows = self.knows.get(broker.id, Knows.QUORUM if self.quorum_leads else Knows.ENSEMBLE)
        broker.is_krafts = knows is Knows.QUORUM

    def home_of(self, service: str) -> FakeControllers:
        """The quorum a service of this name ("zookeeper" or "controller") is a member of."""
        if not self.begun or (service == "controller") == self.quorum_leads:
            return self._kafka
        return self._beside.at(self._kafka.seconds)

    def starts(self, service: ServiceDocument) -> bool:
        """Before a process begins. False for a broker that serves nobody, as none of its mode leads."""
        if service.name == "zookeeper":
            self._volumes[service.log_dirs[0].volume] = service.log_dirs[0].directory_id
            return True
        node, knows = service.node_id, knows_of(service)
        if service.name == "controller":
            self._controller_starts(service, knows)
            self.knows[node] = knows
            return True
        self._broker_starts(node, knows)
        self.knows[node] = knows
        if node in self._brokers:
            self.joins(self._brokers[node])
        return not self._is_stray(node)

    def stops(self, service: ServiceDocument, *, graceful: bool) -> None:
        """Before a process ends."""
        node = service.node_id
        if self.begun and graceful and service.name == "broker" and node in self.needs_ensemble and self._hangs():
            raise BrokenMigration(f"broker {node} is stopped while nobody can take its leaders: it would hang")
        if self.begun and graceful and service.name == "zookeeper" and self.needs_ensemble:
            ensemble = self.home_of("zookeeper")
            if 2 * len(ensemble.voters_up() - {node}) <= len(ensemble.voters()):
                raise BrokenMigration(f"server {node} is stopped, and {self._dependants} need a majority")
        if service.name != "zookeeper":
            self.knows.pop(node, None)

    def deletes(self, volume: str) -> None:
        """Before a volume goes."""
        voting = self.home_of("zookeeper").voters().values()
        if self.begun and self.needs_ensemble and self._volumes.get(volume) in voting:
            raise BrokenMigration(f"{volume} of the ensemble is deleted, and {self._dependants} need it")

    def progress(self) -> None:
        """After a process began or ended: what follows by itself."""
        leader = self.home_of("controller").leader if self.begun else -1
        if leader == -1:
            return
        alone = self.knows.get(leader) is Knows.QUORUM
        if self.state is MigrationState.NONE:
            self.state, self.has_migration = MigrationState.WAITING, True
        if self.state is MigrationState.WAITING and self._awaited() <= self._registered:
            self._take_over(leader)
        if self.state is MigrationState.BOTH_WRITTEN:
            self._claim, self.state = (self._claim, MigrationState.OVER) if alone else (leader, self.state)

    # ---- what Kedge asks ----------------------------------------------------------------------------------------

    @property
    def session_s(self) -> float:
        """For how long a broker that says nothing is called live."""
        return ZOOKEEPER_SESSION_TIMEOUT_S if self.mode == "zookeeper" else SESSION_TIMEOUT_S

    @property
    def mode(self) -> Mode:
        return "kraft" if self.quorum_leads else "zookeeper"

    @property
    def controller(self) -> int:
        """The broker that leads, -1 where a quorum does."""
        if self.quorum_leads:
            return -1
        self._elect({b.id for b in self._brokers.values() if b.serves})
        return self._reigns

    @property
    def controller_epoch(self) -> int:
        return -1 if self.controller < 0 else self._reign

    def depose(self, broker: int, epoch: int) -> bool:
        """What `Registry.depose` does: another broker wins, where there is one."""
        if (self.controller, self._reign) != (broker, epoch):
            return False
        there = {b.id for b in self._brokers.values() if b.serves}
        self._reigns = -1
        self._elect(there - {broker} or there)
        return True

    def refuse(self, what: str) -> None:
        """As the gateway to a cluster that migrates does. Raises KafkaRefused."""
        if self.begun and self.state is not MigrationState.OVER and what.startswith(_REFUSED):
            words = "this cluster migrates from ZooKeeper to KRaft"
            raise KafkaRefused(what=what, where=self._kafka.cluster_id, words=words, error="MigrationInHand")

    def metrics(self, service: ServiceDocument) -> Mapping[str, float]:
        """Of a process that runs; while nothing migrates, controllers alone tell who leads them."""
        if service.name == "zookeeper":
            return {}
        if not self.begun:
            return self._kafka.quorum_metrics() if service.name == "controller" else {}
        if service.name == "broker":
            return {"broker_state": _RUNNING} if self._kafka.serves(service.node_id) else {}
        leader = self.home_of("controller").leader
        told = {
            "active_controllers": float(service.node_id == leader),
            "quorum_leader": float(leader),
            "quorum_high_watermark": 100.0 * (leader >= 0),
        }
        if leader >= 0:
            told |= {"zk_migration_state": float(_NUMBERS[self.state]), "zk_brokers": float(len(self._registered))}
        return told

    def registry(self) -> RegistrySeen:
        """ZooKeeper's word. Raises KafkaUnavailable without a majority of the ensemble."""
        ensemble = self.home_of("zookeeper")
        if 2 * len(ensemble.voters_up()) <= len(ensemble.voters()):
            raise KafkaUnavailable(what="asking ZooKeeper", where=self._kafka.cluster_id, why="no majority serves")
        there = sorted(b for b in self._brokers if self.knows.get(b, Knows.QUORUM).has_ensemble)
        return RegistrySeen(
            at=self._kafka.now(),
            cluster_id=self._kafka.cluster_id,
            brokers={b: RegisteredBroker(b, f"broker-{b}", 9092, self._brokers[b].rack, session=b) for b in there},
            controller=self._claim if self._claim >= 0 else self.controller,
            controller_epoch=1 + self.cuts,
            kraft_epoch=1 if self._claim >= 0 else -1,
            has_migration=self.has_migration,
        )

    def forget(self) -> None:
        """What `Registry.forget_migration` does; a broker that runs then leads."""
        running = sorted(self._controllers & self.knows.keys())
        if running:
            raise BrokenMigration(f"controllers {running} run and would write over what a broker that leads writes")
        lost = sorted(b for b in self._brokers if self.knows.get(b) is Knows.QUORUM)
        if self.begun and lost:
            raise BrokenMigration(f"brokers {lost} are the quorum's, which is to be forgotten")
        if self.begun and self.quorum_leads:
            self._kafka.exchange(self._beside.at(self._kafka.seconds))
            self._kafka.finalised.clear()
            self.quorum_leads = False
        self._spent |= {self._beside.directory_of(c) for c in self._controllers}
        self._beside = Beside(self._kafka)
        self._controllers.clear()
        self._registered.clear()
        self.begun, self.has_migration, self.state, self._claim = False, False, MigrationState.NONE, -1
        self.cuts += 1
        for broker in sorted(self.knows.keys() & self._brokers.keys()):
            self._kafka.start_broker(broker)

    def ends_over_a_disk(self, broker: int) -> bool:
        """Whether this broker halts when one of its directories fails under it: any of them while it is told of both
        (KAFKA-16431; 3.9.1, `ReplicaManager.handleLogDirFailure`). One that fails while it is down only stays away."""
        return self.knows.get(broker) is Knows.BOTH

    @property
    def needs_ensemble(self) -> frozenset[int]:
        """Processes that run and were told of ZooKeeper; of controllers none once the migration is over."""
        free = self._controllers if self.state is MigrationState.OVER else set()
        return frozenset(n for n, knows in self.knows.items() if knows.has_ensemble and n not in free)

    # ---- inside -------------------------------------------------------------------------------------------------

    def _elect(self, candidates: set[int]) -> None:
        if self._reigns not in candidates:
            self._reigns = min(candidates, default=-1)
            self._reign += self._reigns >= 0

    @property
    def _dependants(self) -> str:
        return ", ".join(map(str, sorted(self.needs_ensemble)))

    def _hangs(self) -> bool:
        """Whether nobody leads the cluster: a broker that stops cannot give its leaders away."""
        return self._kafka.leader == -1

    def _controller_starts(self, service: ServiceDocument, knows: Knows) -> None:
        node = service.node_id
        if knows is Knows.BOTH and not self.quorum_leads:
            self.begun = True
        if not self.begun:
            return
        if service.log_dirs[0].directory_id in self._spent:
            raise BrokenMigration(f"controller {node} begins on the disk of a migration that was turned back")
        bound = sorted(b for b in self._brokers if self.knows.get(b, Knows.QUORUM).has_ensemble)
        if knows is Knows.QUORUM and (bound or not self.quorum_leads):
            raise BrokenMigration(f"controller {node} forgets ZooKeeper, and brokers {bound} are ZooKeeper's")
        self._controllers.add(node)

    def _broker_starts(self, broker: int, knows: Knows) -> None:
        if knows is Knows.QUORUM and not self.quorum_leads:
            raise BrokenMigration(f"broker {broker} begins in KRaft mode, and no quorum leads")
        if knows is Knows.BOTH and not self.begun:
            raise BrokenMigration(f"broker {broker} is told of a quorum that is not there")
        alone = sorted(c for c in self._controllers if self.knows.get(c) is Knows.QUORUM)
        if self.begun and knows.has_ensemble and alone:
            raise BrokenMigration(f"broker {broker} begins in ZooKeeper mode, which controllers {alone} have left")
        if knows is Knows.BOTH:
            self._registered.add(broker)
        elif knows is Knows.QUORUM:
            self._registered.discard(broker)

    def _is_stray(self, broker: int) -> bool:
        """It knows of nobody but the ensemble, and a quorum leads."""
        return self.quorum_leads and self.knows.get(broker) is Knows.ENSEMBLE

    def _awaited(self) -> set[int]:
        """Brokers registered in ZooKeeper, or named there by a partition (3.9, `KRaftMigrationDriver`)."""
        hosting = {r for p in self._kafka.partitions() for r in (*p.replicas, *p.adding)}
        return hosting | {b for b in self._brokers if self.knows.get(b, Knows.QUORUM).has_ensemble}

    def _take_over(self, leader: int) -> None:
        """The quorum copies the metadata and leads; a broker that knows the ensemble alone loses its cluster."""
        self.state, self.quorum_leads, self._claim = MigrationState.BOTH_WRITTEN, True, leader
        self._kafka.exchange(self._beside.at(self._kafka.seconds))
        self._kafka.finalised.update(LEVELS)
        for broker in sorted(b for b in self._brokers if self._is_stray(b)):
            self._kafka.kill_broker(broker)


def knows_of(service: ServiceDocument) -> Knows:
    """By its document, running."""
    if service.is_migrating:
        return Knows.BOTH
    return Knows.ENSEMBLE if service.ensemble else Knows.QUORUM
