"""`kedge import` against brokers that Kedge did not start: real controllers and brokers, read by Kafka's protocol."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from controlplane.cli.main import app
from controlplane.cli.surroundings import Surroundings
from controlplane.kafka.admin import AdminGateway
from controlplane.kafka.dialer import DirectDialer
from events.spec.document import load_documents
from tests.cluster_defaults import set_defaults
from tests.kafka.kedge_process import begun
from tests.kafka_processes import KafkaProcesses
from tests.kafka_topics import create_topic

pytestmark = pytest.mark.kafka

SILENT_ADDRESS = "127.0.35.99:9092"


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaProcesses]:
    """Controllers 100 to 102 and two brokers, of others; one broker has a value of its own."""
    kafka = KafkaProcesses(
        tmp_path_factory.mktemp("live-import"),
        network="127.0.35",
        controllers=(100,),
        replication=2,
        min_isr=1,
        properties={"log.retention.hours": "72", "message.max.bytes": "2000000"},
    )
    try:
        kafka.add_broker(1, "a")
        kafka.add_broker(2, "b", overrides={"num.recovery.threads.per.data.dir": "2"})
        kafka.found()
        yield kafka
    finally:
        kafka.close()


@pytest.fixture(scope="module", autouse=True)
def asked_in_vain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[subprocess.Popen[str]]:
    """It asks again for six seconds: begun while the brokers start."""
    with begun(tmp_path_factory.mktemp("asked-nobody"), "import", "--bootstrap", SILENT_ADDRESS) as process:
        yield process


def _import(tmp_path: Path, *arguments: str) -> Result:
    around = Surroundings(environ={"KEDGE_HOME": str(tmp_path / "nobody")}, cwd=tmp_path)
    return CliRunner().invoke(app, ["import", *arguments], obj=around)


def test_the_spec_of_a_running_cluster_is_valid_and_says_what_runs(processes: KafkaProcesses, tmp_path: Path) -> None:
    create_topic(processes.bootstrap, "orders", partitions=6, rf=2, bytes_per_partition=100_000)
    gateway = AdminGateway(dialer := DirectDialer(), "live-import", lambda: processes.bootstrap)
    set_defaults(gateway, {"log.cleaner.threads": "2"})
    dialer.close()

    ended = _import(tmp_path, "--bootstrap", ",".join(processes.bootstrap), "--name", "theirs")

    assert ended.exit_code == 0, ended.output
    print(ended.stdout)
    loaded = load_documents(ended.stdout, file="theirs.yaml")
    assert loaded.ok, loaded.problems
    spec = loaded.documents[0].spec
    assert loaded.documents[0].metadata.name == "theirs"
    assert spec.external is not None
    assert spec.external.cluster_id == processes.cluster_id
    assert [(b.id, b.rack, f"{b.host}:{b.port}") for b in spec.external.brokers] == [
        (n.id, n.rack, n.address) for n in processes.nodes.values() if n.role == "broker"
    ]
    controller = processes.nodes[100]
    assert [(c.id, f"{c.host}:{c.port}", c.directory_id) for c in spec.external.controllers] == [
        (100, controller.address, controller.directory_id)
    ]
    assert spec.kafka.version == "4.1.1"
    assert spec.kafka.config["log.retention.hours"] == "72"
    assert spec.kafka.config["message.max.bytes"] == "2000000"
    assert spec.kafka.config["log.cleaner.threads"] == "2"
    assert "num.recovery.threads.per.data.dir" not in spec.kafka.config
    assert not {k for k in spec.kafka.config if k.startswith(("log.dir", "listeners", "controller."))}
    told = [line for line in ended.stdout.splitlines() if line.startswith("# unknown: ")]
    assert any("num.recovery.threads.per.data.dir" in line for line in told)
    assert "# 1 topics, 6 partitions (6 with 2 replicas)." in ended.stdout


def test_what_answers_nothing_is_an_error_with_its_address(asked_in_vain: subprocess.Popen[str]) -> None:
    out, err = asked_in_vain.communicate(timeout=60)
    assert asked_in_vain.returncode == 1
    assert SILENT_ADDRESS in out + err
