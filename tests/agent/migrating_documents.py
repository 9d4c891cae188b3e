"""Documents of a small cluster of Kafka 3.9 on its way from ZooKeeper to KRaft, by what each service is told.

One ZooKeeper server, three brokers, three controllers, each on a VM of its own.
"""

from agent.wire import EnsembleMember, LogDir, ServiceDocument, Voter
from controlplane.kafka.zookeeper.migration import Knows
from controlplane.kafka.zookeeper.superuser import super_digest, super_password
from events.ids import kafka_uuid
from events.spec.releases import MIGRATES

NETWORK = "127.0.44"
CLUSTER_ID = "kedgeMigratesToKRaftA1"
SERVER = EnsembleMember(id=1, address=f"{NETWORK}.101")
BROKERS = {1000 + i: f"{NETWORK}.1{i}" for i in range(3)}
CONTROLLERS = {103 + i: f"{NETWORK}.12{i}" for i in range(3)}
PASSWORD = super_password(b"a key", "c1")
_QUICK = {"zookeeper.session.timeout.ms": "6000", "broker.session.timeout.ms": "6000"}


class MigratingDocuments:
    """`knows` is what each broker and controller is told; a start counts from `start` on."""

    def __init__(self) -> None:
        self.knows = {**dict.fromkeys(BROKERS, Knows.ENSEMBLE), **dict.fromkeys(CONTROLLERS, Knows.STOPPED)}
        self._starts = dict.fromkeys(self.knows, 0)
        self._disks = dict.fromkeys(CONTROLLERS, 1)

    def tell(self, service: int, knows: Knows) -> None:
        self.knows[service] = knows
        self._starts[service] += knows is not Knows.STOPPED

    def renew_disk(self, controller: int) -> None:
        """Empty from its next start on."""
        self._disks[controller] += 1

    def of(self, service: int) -> ServiceDocument:
        return self._broker(service) if service in BROKERS else self._controller(service)

    def start_id(self, service: int) -> str:
        return f"s-{service}-{self._starts[service]}"

    def _broker(self, broker: int) -> ServiceDocument:
        knows = self.knows[broker]
        log_dir = LogDir(
            name="data", volume=f"{node_of(broker)}.data.v1", directory_id=kafka_uuid("broker", str(broker)), fresh=True
        )
        return ServiceDocument(
            name="broker",
            state="stopped" if knows is Knows.STOPPED else "running",
            start_id=self.start_id(broker),
            kafka_version=MIGRATES,
            cluster_id=CLUSTER_ID,
            node_id=broker,
            address=BROKERS[broker],
            port=9092,
            rack=f"az-{broker}",
            log_dirs=(log_dir,),
            voters=self._voters() if knows.has_quorum else (),
            ensemble=() if knows is Knows.QUORUM else (SERVER,),
            protocol_version="" if knows is Knows.QUORUM else "3.9",
            settings=_QUICK,
        )

    def _controller(self, controller: int) -> ServiceDocument:
        knows = self.knows[controller]
        log_dir = LogDir(
            name="metadata", volume=self.volume_of(controller), directory_id=self._directory(controller), fresh=True
        )
        changed = {
            "name": "controller",
            "node_id": controller,
            "state": "stopped" if knows is Knows.STOPPED else "running",
            "start_id": self.start_id(controller),
            "address": CONTROLLERS[controller],
            "port": 9093,
            "log_dirs": (log_dir,),
            "voters": self._voters(),
            "ensemble": (SERVER,) if knows is Knows.BOTH else (),
            "protocol_version": "",
            "founder": True,
            "metadata_level": "3.9",
            "heap_mib": 128,
            "settings": {},
        }
        return self._broker(min(BROKERS)).model_copy(update=changed)

    def zookeeper(self) -> ServiceDocument:
        log_dir = LogDir(name="data", volume="zookeeper-1.data.v1", directory_id=kafka_uuid("zookeeper"), fresh=True)
        changed = {
            "name": "zookeeper",
            "node_id": SERVER.id,
            "state": "running",
            "start_id": "z-1",
            "address": SERVER.address,
            "port": SERVER.port,
            "log_dirs": (log_dir,),
            "founder": True,
            "super_digest": super_digest(PASSWORD),
            "heap_mib": 96,
            "settings": {},
        }
        return self._broker(min(BROKERS)).model_copy(update=changed)

    def _voters(self) -> tuple[Voter, ...]:
        return tuple(
            Voter(id=c, address=address, port=9093, directory_id=self._directory(c))
            for c, address in CONTROLLERS.items()
        )

    def volume_of(self, controller: int) -> str:
        return f"{node_of(controller)}.metadata.v{self._disks[controller]}"

    def _directory(self, controller: int) -> str:
        return kafka_uuid("controller", str(controller), str(self._disks[controller]))


def node_of(service: int) -> str:
    return f"{'brokers' if service in BROKERS else 'controllers'}-{service}"
