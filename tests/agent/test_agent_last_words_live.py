"""A real agent whose cloud takes its VM back: the broker stops in order before the date; its last words are read."""

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest

from agent.wire import LogsTopic
from controlplane.background.log_reader.lines import LogLine, LogQuery
from controlplane.background.log_reader.reading import read_page
from controlplane.background.log_reader.topic import LOGS_CONFIG, LOGS_TOPIC
from tests.agent.small_cluster import BROKER, Cluster, document, serving
from tests.fakes.metadata import FakeMetadata, metadata_server

pytestmark = [pytest.mark.kafka, pytest.mark.soak]

BOOTSTRAP = f"{BROKER}:9092"
LEAD_S = 20.0


@pytest.fixture(scope="module")
def metadata() -> Iterator[FakeMetadata]:
    with metadata_server() as fake:
        yield fake


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, metadata: FakeMetadata) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("vms"))
    cluster.broker.environ = {
        "KEDGE_AGENT_METADATA": "aws",
        "KEDGE_AGENT_METADATA_URL": metadata.url,
        "KEDGE_AGENT_PREEMPT_EVERY_S": "0.5",
        "KEDGE_AGENT_PREEMPT_STOP_S": str(LEAD_S),
    }
    with serving(cluster) as there:
        topic = LogsTopic(name=LOGS_TOPIC, bootstrap=BOOTSTRAP, replication=1, config=LOGS_CONFIG)
        told = document("brokers-0", there.service("broker", "b-1", state="running"))
        there.server.serve(told.model_copy(update={"logs": topic}))
        yield there


def lines_until(is_there: Callable[[list[LogLine]], bool], *, timeout_s: float = 60.0) -> list[LogLine]:
    until_s = time.monotonic() + timeout_s
    while True:
        wanted = LogQuery(datetime.now(UTC) - timedelta(hours=1))
        lines = list(read_page(BOOTSTRAP, wanted, after={}, limit=100_000, where="test").lines)
        if is_there(lines) or time.monotonic() > until_s:
            return lines
        time.sleep(0.5)


def said(lines: list[LogLine], service: str, words: str) -> list[LogLine]:
    return [line for line in lines if line.service == service and words in line.text]


def test_a_broker_serves_until_it_has_to_stop_and_again_when_the_vm_stays(
    cluster: Cluster, metadata: FakeMetadata
) -> None:
    lines = lines_until(lambda found: bool(said(found, "broker", "started (kafka.server.KafkaRaftServer)")))
    assert said(lines, "broker", "started (kafka.server.KafkaRaftServer)")
    assert said(lines, "agent", "new document")
    assert {line.node for line in lines} == {"brokers-0"}

    vm = cluster.broker.instance
    deadline = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=LEAD_S + 6)
    metadata.spot = {"action": "terminate", "time": deadline.isoformat().replace("+00:00", "Z")}
    before = cluster.server.count(vm)
    cluster.server.wait_for_service(vm, "broker", lambda s: s.state == "running", after=before)

    cluster.server.wait_for_service(vm, "broker", lambda s: s.state != "running", after=before, timeout_s=30)
    told = cluster.server.reports[vm][-1].preemption
    assert told is not None
    assert (told.kind, told.deadline) == ("preempt", deadline)
    broker_log = cluster.broker.root / "logs" / "broker.log"
    while datetime.now(UTC) < deadline and "shut down completed" not in broker_log.read_text():
        time.sleep(0.2)
    assert datetime.now(UTC) < deadline  # in order, and in time
    assert "controlled shutdown" in broker_log.read_text().lower()

    metadata.spot = None
    cluster.server.wait_for_service(
        vm, "broker", lambda s: s.state == "running", after=cluster.server.count(vm), timeout_s=60
    )
    lines = lines_until(lambda found: bool(said(found, "broker", "shut down completed")))
    assert said(lines, "broker", "shut down completed")  # written while nobody could take it
    assert said(lines, "agent", "the cloud says of this VM: spot terminate")
    assert said(lines, "agent", "it stays after all")
