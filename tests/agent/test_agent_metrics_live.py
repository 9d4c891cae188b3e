"""A real broker's counters through its real Jolokia, and real librdkafka with and without a Kafka at the other end."""

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, Consumer, Message, Producer

from agent.kafka_tls import BrokerTask
from agent.metrics import Jolokia
from agent.metrics_duty import MeasuredBroker
from agent.metrics_interval import MetricsSubject, message_of
from agent.metrics_reading import Reading, read_counters
from agent.metrics_spool import Parcel
from agent.metrics_start import start_shipping
from agent.metrics_topic import TopicNotMade, ensure_topic
from agent.sending import KafkaCarrier, Undelivered
from agent.wire import MetricsTopic, ServiceDocument
from spark.metrics.topic import TOPIC_CONFIG
from tests.jolokia_port import java_agent
from tests.kafka_processes import JARS, KafkaProcesses
from tests.kafka_topics import create_topic
from tests.waiting import until

pytestmark = pytest.mark.kafka

HOST, PORT = "127.0.61.1", 8778
POLICY = Path(__file__).resolve().parent.parent.parent / "agent" / "services" / "jolokia-access.xml"


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    kafka = KafkaProcesses(tmp_path_factory.mktemp("kafka"), network="127.0.61", min_isr=1, replication=1)
    port = java_agent(JARS / "4.1.1" / "libs", host=HOST, port=PORT, policy=POLICY)
    try:
        kafka.start_controllers()
        kafka.add_broker(1, "a")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("JAVA_TOOL_OPTIONS", f"-Dsun.net.httpserver.nodelay=true {port}")
            kafka.start(1)
        create_topic(kafka.bootstrap, "orders", partitions=2, rf=1)
        create_topic(kafka.bootstrap, "bills", partitions=1, rf=1)
        yield kafka.bootstrap[0]
    finally:
        kafka.close()


@pytest.fixture
def jolokia() -> Iterator[Jolokia]:
    port = Jolokia(f"http://{HOST}:{PORT}", timeout_s=10)
    yield port
    port.close()


def produce(bootstrap: str, records: dict[tuple[str, int], int]) -> None:
    """That many records of 1,000 bytes to each partition, each a batch of its own."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, "acks": "all"})
    for (topic, partition), count in records.items():
        for _ in range(count):
            producer.produce(topic, b"x" * 1000, partition=partition)
            producer.flush(10)


def settled(carrier: KafkaCarrier, outcomes: list[Undelivered | None]) -> bool:
    carrier.poll(0.1)
    return bool(outcomes)


def readings(jolokia: Jolokia, bootstrap: str, records: dict[tuple[str, int], int]) -> tuple[Reading, Reading]:
    """Before and after; called 60 s apart, whatever the time was."""
    before = read_counters(jolokia, at_s=0.0)
    produce(bootstrap, records)
    return before, read_counters(jolokia, at_s=60.0)


def test_a_real_broker_says_who_got_how_many_bytes(bootstrap: str, jolokia: Jolokia) -> None:
    produce(bootstrap, {("orders", 0): 1, ("orders", 1): 1})  # Kafka makes a topic's counters with its first bytes
    before, after = readings(jolokia, bootstrap, {("orders", 0): 60, ("orders", 1): 20})
    message = message_of(MetricsSubject("c1", 1, "b-1"), before, after, interval_start_ms=0, interval_ms=60_000)
    found = {(p.topic, p.partition): p for p in message.partitions}
    assert set(found) == {("orders", 0), ("orders", 1), ("bills", 0)}
    total = after.topic_in_bytes["orders"] - before.topic_in_bytes["orders"]
    assert total >= 80 * 1000
    assert (found["orders", 0].in_bytes, found["orders", 1].in_bytes) == (total * 3 // 4, total - total * 3 // 4)
    assert found["bills", 0].in_bytes == 0
    for partition, records in ((0, 61), (1, 21)):
        assert (found["orders", partition].log_bytes or 0) == pytest.approx(records * 1070, rel=0.05)
    assert 0 < message.figures["cpu"] < 1
    assert 0 <= message.figures["request_handler_idle"] <= 1
    assert message.figures["nic_in_bytes_per_s"] == pytest.approx(total / 60, rel=0.05)
    assert message.figures["log_flush_p99_ms"] >= 0
    assert {"produce_local_p99_ms", "request_queue_p99_ms"} <= message.figures.keys()
    assert after.started_ms == before.started_ms > 1_700_000_000_000


def test_a_message_reaches_a_real_topic_under_its_key(bootstrap: str, jolokia: Jolokia) -> None:
    message = message_of(
        MetricsSubject("c1", 1, "b-1"),
        None,
        read_counters(jolokia, at_s=0.0),
        interval_start_ms=60_000,
        interval_ms=60_000,
    )
    outcomes: list[Undelivered | None] = []
    carrier = KafkaCarrier(bootstrap, "bills")
    assert carrier.send(Parcel(message.key, message.encode()), outcomes.append)
    carrier.close()
    assert outcomes == [None]
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "t", "auto.offset.reset": "earliest"})
    consumer.subscribe(["bills"])
    record = consumer.poll(20)
    consumer.close()
    assert record is not None
    assert record.error() is None
    assert record.key() == b"1/c1/1/60000"
    assert pa.ipc.open_stream(record.value() or b"").read_next_batch().column("broker").to_pylist() == [1]


def test_a_kafka_that_is_not_there_gives_the_message_back(bootstrap: str) -> None:
    outcomes: list[Undelivered | None] = []
    carrier = KafkaCarrier("127.0.61.9:9", "bills", timeout_s=1.0)
    assert carrier.send(Parcel(b"k", b"v"), outcomes.append)

    until(lambda: settled(carrier, outcomes), "librdkafka to give up", timeout_s=30)
    carrier.close()
    (failure,) = outcomes
    assert failure is not None
    assert not failure.is_final


def test_a_topic_that_refuses_its_size_is_a_final_answer(bootstrap: str) -> None:
    outcomes: list[Undelivered | None] = []
    carrier = KafkaCarrier(bootstrap, "bills")
    assert carrier.send(Parcel(b"k", os.urandom(2 * 2**20)), outcomes.append)
    until(lambda: settled(carrier, outcomes), "Kafka's answer", timeout_s=30)
    carrier.close()
    assert outcomes[0] is not None
    assert outcomes[0].is_final


def test_the_thread_makes_the_topic_and_ships_interval_after_interval(bootstrap: str, tmp_path: Path) -> None:
    address, port = bootstrap.split(":")
    broker = ServiceDocument(
        name="broker",
        state="running",
        start_id="s",
        kafka_version="4.1.1",
        cluster_id="k",
        node_id=1,
        address=address,
        port=int(port),
        rack="a",
        log_dirs=(),
        voters=(),
    )
    topic = MetricsTopic(name="metrics", partitions=1, replication=1, config=TOPIC_CONFIG, interval_s=1)
    leaving = threading.Event()
    spool = tmp_path / "spool"
    task = BrokerTask(MeasuredBroker(broker, "c1", "b-1", topic))
    thread = start_shipping(task, leaving=leaving, spool=spool)
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "m", "auto.offset.reset": "earliest"})
    consumer.subscribe(["metrics"])
    records: list[Message] = []
    deadline = time.monotonic() + 60
    while len(records) < 3 and time.monotonic() < deadline:
        records += [record for record in consumer.consume(3, 1) if record.error() is None]
    leaving.set()
    consumer.close()
    thread.join(20)
    assert not thread.is_alive()
    assert len(list(spool.iterdir())) <= 1  # what Kafka has is not kept
    starts = [int((record.key() or b"").decode().rpartition("/")[2]) for record in records]
    assert len(starts) >= 3
    assert starts == sorted(set(starts))
    assert all(start % 1000 == 0 for start in starts)
    assert records[0].timestamp()[0] == TIMESTAMP_LOG_APPEND_TIME


def test_a_topic_that_cannot_be_made_is_said_and_one_that_is_there_is_left(bootstrap: str) -> None:
    ensure_topic(bootstrap, MetricsTopic(name="orders", replication=1))
    with pytest.raises(TopicNotMade, match="topic wide"):
        ensure_topic(bootstrap, MetricsTopic(name="wide", replication=3))
    with pytest.raises(TopicNotMade, match=r"topic metrics at 127\.0\.61\.9:9"):
        ensure_topic("127.0.61.9:9", MetricsTopic(name="metrics", replication=1), timeout_s=1)
