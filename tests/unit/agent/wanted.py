"""Documents and boot data for unit tests of the agent."""

from pydantic import SecretStr

from agent.wire import BootData, Document, EnsembleMember, LogDir, ServiceDocument, Voter

VOTERS = tuple(
    Voter(id=100 + i, address=f"10.0.0.{i + 1}", port=9093, directory_id=f"Y29udHJvbGxlci1kaXItM{i}") for i in range(3)
)
ENSEMBLE = tuple(EnsembleMember(id=i, address=f"10.0.1.{i}") for i in (1, 2, 3))


def broker(start_id: str = "s-1", **changes: object) -> ServiceDocument:
    log_dir = LogDir(name="data", volume="brokers-a-0.data.v1", directory_id="YnJva2VyLWRpci1vbmUtMQ", fresh=True)
    service = ServiceDocument(
        name="broker",
        state="running",
        start_id=start_id,
        kafka_version="4.1.1",
        cluster_id="kedgeUnitTestClusterAA",
        node_id=1000,
        address="10.0.0.9",
        port=9092,
        rack="a",
        log_dirs=(log_dir,),
        voters=VOTERS,
    )
    return service.model_copy(update=changes)


def controller(start_id: str = "c-1", **changes: object) -> ServiceDocument:
    log_dir = LogDir(
        name="metadata", volume="controllers-0.metadata.v1", directory_id=VOTERS[0].directory_id, fresh=True
    )
    founder = {
        "name": "controller",
        "node_id": 100,
        "address": "10.0.0.1",
        "port": 9093,
        "log_dirs": (log_dir,),
        "founder": True,
        "metadata_level": "4.1",
        "heap_mib": 128,
    }
    return broker(start_id).model_copy(update={**founder, **changes})


def server(start_id: str = "z-1", **changes: object) -> ServiceDocument:
    """A ZooKeeper server of the first ensemble."""
    log_dir = LogDir(name="zookeeper", volume="zookeeper-0.data.v1", directory_id="em9va2VlcGVyLWRpci0wMQ", fresh=True)
    founder = {
        "name": "zookeeper",
        "node_id": 1,
        "address": "10.0.1.1",
        "port": 2181,
        "kafka_version": "3.9.1",
        "log_dirs": (log_dir,),
        "voters": (),
        "founder": True,
        "ensemble": ENSEMBLE,
        "super_digest": "super:2Oqk2mjd1g0uhScIrFLmEhSTkUM=",
        "heap_mib": 128,
    }
    return broker(start_id).model_copy(update={**founder, **changes})


def old_broker(start_id: str = "s-1", **changes: object) -> ServiceDocument:
    """A broker in ZooKeeper mode."""
    mode = {"kafka_version": "3.9.1", "voters": (), "ensemble": ENSEMBLE, "protocol_version": "3.9"}
    return broker(start_id).model_copy(update={**mode, **changes})


def document(*services: ServiceDocument, epoch: int = 7) -> Document:
    return Document(epoch=epoch, cluster_uid="c1", node="brokers-a-0", generation=2, services=services)


def boot_data(server_url: str = "https://kedge.example") -> BootData:
    return BootData(
        server_url=server_url,
        installation_id="i1",
        cluster_uid="c1",
        node="brokers-a-0",
        generation=2,
        intent_id="intent-1",
        token=SecretStr("t0ken"),
    )
