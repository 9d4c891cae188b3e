"""A producer's first record in a partition is refused while the next one is let in. With several requests in flight
librdkafka then reports the first one as delivered though no log holds it (docs/producers.md); our audits must not.
"""

import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer

from controlplane.kafka.audit import AcknowledgedRecords, read_names, record
from controlplane.kafka.workload import Workload
from tests.kafka_processes import KafkaProcesses
from tests.kafka_topics import create_topic
from tests.refusing_proxy import RefusingProxy
from tests.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.soak, pytest.mark.timeout(120)]
PROXY = ("127.0.46.99", 9092)
SERVERS = f"{PROXY[0]}:{PROXY[1]}"


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaProcesses]:
    """One broker that tells everybody to come by the proxy."""
    kafka = KafkaProcesses(tmp_path_factory.mktemp("first-batch"), network="127.0.46", min_isr=1, replication=1)
    try:
        kafka.add_broker(1000, "a", overrides={"advertised.listeners": f"PLAINTEXT://{SERVERS}"})
        kafka.found()
        yield kafka
    finally:
        kafka.close()


@pytest.fixture
def proxy(processes: KafkaProcesses, request: pytest.FixtureRequest) -> Iterator[RefusingProxy]:
    topic = f"first-{request.node.name[5:20].rstrip('_')}"
    proxy = RefusingProxy(PROXY, (processes.nodes[1000].host, processes.nodes[1000].port), topic)
    create_topic([SERVERS], topic, partitions=1, rf=1)
    request.node.topic = topic
    yield proxy
    proxy.close()


def test_ours_loses_nothing_when_its_first_record_is_refused(
    proxy: RefusingProxy, request: pytest.FixtureRequest
) -> None:
    workload = Workload(lambda: [SERVERS], request.node.topic, records_per_s=100)
    proxy.armed.set()
    workload.start()
    until(lambda: proxy.refused.is_set() and workload.acknowledged > 50, "records behind the one that was refused")
    workload.stop()
    audit = workload.audit()
    assert (workload.error, audit.lost, audit.duplicated, audit.failed) == ("", 0, 0, 0), audit


def test_a_client_as_it_comes_reports_a_record_that_no_log_holds(
    proxy: RefusingProxy, request: pytest.FixtureRequest
) -> None:
    """The fact itself. Once a librdkafka no longer does so, this fails, and `docs/producers.md` may be mended."""
    topic, records = request.node.topic, AcknowledgedRecords()
    producer, number = Producer({"bootstrap.servers": SERVERS, "enable.idempotence": True, "linger.ms": 0}), 0
    records.new_producer()
    producer.list_topics(topic, timeout=10)
    proxy.armed.set()
    for _ in range(5):
        name = (number, records.next_sequence(number))
        producer.produce(topic, record(name, 100), on_delivery=_into(records, name))
        producer.poll(0.2)
        time.sleep(0.2)
    assert producer.flush(30) == 0
    audit = records.audit(read_names(SERVERS, [topic]))
    assert (audit.acknowledged, audit.lost, audit.lost_examples) == (5, 1, ((0, 0),))


def _into(records: AcknowledgedRecords, name: tuple[int, int]) -> Callable[[object, object], None]:
    """Called when the record is delivered, or was not."""

    def delivered(error: object, _message: object) -> None:
        if error is None:
            records.acknowledge(name)

    return delivered
