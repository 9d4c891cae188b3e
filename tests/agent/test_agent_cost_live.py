"""What the agent costs on the VM of a broker that holds 2,000 partitions, with everything on that it may send."""

import time
from collections.abc import Iterator

import psutil
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from agent.wire import Heartbeats, HeartbeatTarget, LogsTopic, MetricsTopic
from tests.agent.small_cluster import BROKER, Cluster, document, serving

pytestmark = [pytest.mark.kafka, pytest.mark.soak, pytest.mark.timeout(420)]

BOOTSTRAP = f"{BROKER}:9092"
TOPICS, EACH, AT_ONCE = 200, 10, 10
PARTITIONS = TOPICS * EACH
SECONDS = 120.0
"""Two looks at every partition's counters, eight at the vitals, twenty-four at the directories."""

AT_ITS_OWN_PACE = {
    "KEDGE_AGENT_METRICS_EVERY_S": "5",
    "KEDGE_AGENT_REPORT_EVERY_S": "3",
    "KEDGE_AGENT_VITALS_EVERY_S": "15",
}
"""The agent's defaults; other tests hurry it."""


class LargeCluster(Cluster):
    """Its broker has room for the partitions, its agent sends metrics, logs and heartbeats."""

    def serve_broker(self, start_id: str, *, state: str = "running", epoch: int = 1) -> None:
        broker = self.service("broker", start_id, state=state).model_copy(update={"heap_mib": 512})
        sends = {
            "metrics": MetricsTopic(name="__kedge_metrics", replication=1),
            "logs": LogsTopic(name="__kedge_logs", bootstrap=BOOTSTRAP, replication=1),
            "heartbeats": Heartbeats(
                topic="__kedge_heartbeats", targets=(HeartbeatTarget(broker=1000, address=BROKER, port=9092),)
            ),
        }
        self.server.serve(document("brokers-0", broker, epoch=epoch).model_copy(update=sends))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    cluster = LargeCluster(tmp_path_factory.mktemp("vms"))
    cluster.broker.environ.update(AT_ITS_OWN_PACE)
    with serving(cluster):
        _make_topics()
        yield cluster


def test_at_two_thousand_partitions_it_takes_a_hundredth_of_a_core_and_80_mib(cluster: Cluster) -> None:
    """The bound of the core is of the whole agent, its metrics, logs and heartbeats among it."""
    pid = cluster.broker.agent_pid
    assert pid is not None
    agent = psutil.Process(pid)
    told = cluster.server.wait_for_service(
        cluster.broker.instance,
        "broker",
        lambda s: sum(d.partitions for d in s.log_dirs) >= PARTITIONS,
        after=cluster.server.count(cluster.broker.instance),
        timeout_s=60,
    )
    time.sleep(65)  # the first look at every partition's counters is behind it
    began_s, before = time.monotonic(), sum(agent.cpu_times()[:2])
    most_mib = 0.0
    while time.monotonic() - began_s < SECONDS:
        most_mib = max(most_mib, agent.memory_info().rss / 2**20)
        time.sleep(0.5)
    share = (sum(agent.cpu_times()[:2]) - before) / (time.monotonic() - began_s)
    print(f"{told.log_dirs[0].partitions} partitions: {100 * share:.2f} % of a core, {most_mib:.0f} MiB at the most")
    assert cluster.broker_running("b-1").findings == ()
    assert share <= 0.01
    assert most_mib <= 80


def _make_topics() -> None:
    """The partitions, with a record in each, and the topic of the heartbeats. Some at a time: the heap is small."""
    admin = AdminClient({"bootstrap.servers": BOOTSTRAP, "log_level": 0})
    for first in range(0, TOPICS, AT_ONCE):
        topics = [NewTopic(f"orders-{n}", EACH, 1) for n in range(first, first + AT_ONCE)]
        for made in admin.create_topics(topics, operation_timeout=60).values():
            made.result(90)
    name = "__kedge_heartbeats"
    admin.create_topics([NewTopic(name, 1, 1, config={"min.insync.replicas": "1"})])[name].result(60)
    producer = Producer({"bootstrap.servers": BOOTSTRAP, "log_level": 0})
    for n in range(TOPICS):
        for partition in range(EACH):
            producer.produce(f"orders-{n}", b"x" * 1000, partition=partition)
    assert producer.flush(120) == 0
