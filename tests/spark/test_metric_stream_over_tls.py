"""The metric pipeline on a broker that asks for a certificate: it reads with one, goes on with the next, and what it
shows is written down nowhere."""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from controlplane.storage.certificates.building import key_pem
from controlplane.storage.certificates.cluster_authority import NODE_LIFE, ClusterAuthorities, founded
from events.ids import ClusterUid
from spark.metrics.broker_tls import ReaderTls
from spark.metrics.topic import TOPIC_CONFIG
from spark.pipeline.sources import MetricSource
from spark.pipeline.supervisor import PipelineSettings, PipelineSupervisor
from spark.supervisor import WorkerSettings
from tests.kafka_processes import KafkaProcesses
from tests.metric_messages import a_message
from tests.present import present
from tests.spark.test_metric_stream import send
from tests.waiting import until

pytestmark = [pytest.mark.soak, pytest.mark.spark, pytest.mark.kafka, pytest.mark.timeout(600)]

JARS = Path(__file__).resolve().parent.parent.parent / ".cache" / "spark" / "jars"
HOST, WITHIN_S = "127.0.68.1", 240.0
CLUSTER = ClusterUid("c1")
NOW = datetime.now(UTC)


@pytest.fixture(scope="module")
def authorities() -> ClusterAuthorities:
    return founded(CLUSTER, now=NOW)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory, authorities: ClusterAuthorities) -> Iterator[str]:
    """A broker with a second listener at 9094, where certificates of the cluster CA alone are let in."""
    root = tmp_path_factory.mktemp("kafka")
    key, uses = ec.generate_private_key(ec.SECP256R1()), (ExtendedKeyUsageOID.SERVER_AUTH,)
    leaf = authorities.cluster.sign(key.public_key(), "broker", addresses=[HOST], uses=uses, life=NODE_LIFE, now=NOW)
    (root / "node.pem").write_text(f"{key_pem(key)}\n{leaf.pem}")
    (root / "ca.pem").write_text(authorities.cluster.pem)
    listeners = f"PLAINTEXT://{HOST}:9092,TLS://{HOST}:9094"
    tls = {
        "listeners": listeners,
        "advertised.listeners": listeners,
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,TLS:SSL",
        "listener.name.tls.ssl.client.auth": "required",
        "listener.name.tls.ssl.keystore.type": "PEM",
        "listener.name.tls.ssl.keystore.location": str(root / "node.pem"),
        "listener.name.tls.ssl.truststore.type": "PEM",
        "listener.name.tls.ssl.truststore.location": str(root / "ca.pem"),
    }
    kafka = KafkaProcesses(root / "nodes", network="127.0.68", min_isr=1, replication=1)
    try:
        kafka.add_broker(1, "a", overrides=tls)
        kafka.found()
        yield kafka.bootstrap[0]
    finally:
        kafka.close()


def shown(authorities: ClusterAuthorities) -> ReaderTls:
    identity = authorities.identity("metrics", now=NOW)
    return ReaderTls(authorities.cluster.pem, identity.issued.pem, identity.key_pem)


def secret_lines(tls: ReaderTls) -> list[str]:
    return [line for line in tls.key_pem.splitlines() if line and "-----" not in line]


def minutes_read(lake: Path) -> list[int]:
    try:
        return sorted(
            map(present, DeltaTable(str(lake / "messages")).to_pyarrow_table().column("kafka_offset").to_pylist())
        )
    except TableNotFoundError:
        return []


def written_down(root: Path, secrets: list[str]) -> list[str]:
    """Files, arguments and environments that have one of them."""
    texts = {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    for process in psutil.process_iter():
        for name in ("cmdline", "environ"):
            path = Path("/proc") / str(process.pid) / name
            try:
                texts[str(path)] = path.read_bytes()
            except OSError:
                continue
    return [name for name, text in texts.items() if any(one.encode() in text for one in secrets)]


def test_it_reads_with_one_certificate_after_another_and_keeps_none(
    plain: str, authorities: ClusterAuthorities, tmp_path: Path
) -> None:
    admin = AdminClient({"bootstrap.servers": plain, "log_level": 0})
    admin.create_topics([NewTopic("m", 1, 1, config=TOPIC_CONFIG)])["m"].result(20)
    lake, events = tmp_path / "lake", tmp_path / "events"
    events.mkdir()
    command = [sys.executable, "-m", "spark.pipeline.worker", "--lake", str(lake), "--jars", str(JARS)]
    command += ["--checkpoint", str(tmp_path / "checkpoints"), "--every-s", "1", "--delay-s", "60"]
    worker = WorkerSettings(
        master="local[1]",
        scratch=tmp_path / "scratch",
        log=tmp_path / "metrics.log",
        command=tuple(command),
        conf={
            "spark.eventLog.enabled": "true",
            "spark.eventLog.compress": "false",
            "spark.eventLog.dir": events.as_uri(),
        },
    )
    pipeline = PipelineSupervisor(PipelineSettings(worker=worker, lake=str(lake)))
    first, second = shown(authorities), shown(authorities)

    def read(count: int) -> bool:
        return minutes_read(lake) == list(range(count))

    def told() -> str:
        log = tmp_path / "metrics.log"
        return f"{pipeline.status()}\n{log.read_text()[-3000:] if log.exists() else ''}"

    try:
        send(plain, [a_message(minute, cluster=CLUSTER) for minute in range(5)], topic="m")
        pipeline.want((MetricSource("c1", (f"{HOST}:9094",), "m", only=CLUSTER, tls=first),))
        until(lambda: read(5), "what was sent to be read over TLS", timeout_s=WITHIN_S, told=told)
        pipeline.want((MetricSource("c1", (f"{HOST}:9094",), "m", only=CLUSTER, tls=second),))
        send(plain, [a_message(minute, cluster=CLUSTER) for minute in range(5, 9)], topic="m")
        until(lambda: read(9), "the rest to be read, once, by the next certificate", timeout_s=WITHIN_S, told=told)
        (status,) = pipeline.status().streams
        assert (status.failures, pipeline.status().restarts) == (0, 0), told()
        secrets = [*secret_lines(first), *secret_lines(second)]
        assert len(secrets) >= 6
        assert written_down(tmp_path, secrets) == []
        assert "spark.redaction.regex" in "".join(p.read_text() for p in events.rglob("*") if p.is_file())
        assert not any(one in str(pipeline.status()) + repr(pipeline.__dict__) for one in secrets)
    finally:
        pipeline.stop()
    assert written_down(tmp_path, secrets) == [], "nor behind it"


def test_a_certificate_of_another_ca_reads_nothing_and_the_reason_is_told(
    plain: str, authorities: ClusterAuthorities, tmp_path: Path
) -> None:
    """No line of the reason shows its key."""
    stranger = founded(ClusterUid("c2"), now=NOW)
    identity = stranger.identity("metrics", now=NOW)
    foreign = ReaderTls(authorities.cluster.pem, identity.issued.pem, identity.key_pem)
    worker = WorkerSettings(
        master="local[1]",
        scratch=tmp_path / "scratch",
        log=tmp_path / "metrics.log",
        command=(
            *(sys.executable, "-m", "spark.pipeline.worker", "--lake", str(tmp_path / "lake"), "--jars", str(JARS)),
            *("--checkpoint", str(tmp_path / "checkpoints"), "--every-s", "1", "--delay-s", "60"),
        ),
    )
    pipeline = PipelineSupervisor(PipelineSettings(worker=worker, lake=""))

    def failed() -> bool:
        streams = pipeline.status().streams
        return bool(streams) and streams[0].state == "failed"

    try:
        pipeline.want((MetricSource("c3", (f"{HOST}:9094",), "m", only=CLUSTER, tls=foreign),))
        until(failed, "it to be refused", timeout_s=WITHIN_S, told=lambda: str(pipeline.status()))
        assert "Ssl" in pipeline.status().streams[0].error
        assert written_down(tmp_path, secret_lines(foreign)) == []
    finally:
        pipeline.stop()
    assert plain
