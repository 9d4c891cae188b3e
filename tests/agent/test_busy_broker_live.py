"""A broker with one request handler and one network processor, given more work than they can do: found, gone after."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.agent.small_cluster import BROKER, Cluster, serving

pytestmark = [pytest.mark.kafka, pytest.mark.soak, pytest.mark.timeout(460)]

ONE_OF_EACH = {"num.io.threads": "1", "num.network.threads": "1"}
HANDLERS, PROCESSORS = "request_handlers_busy", "network_processors_busy"

FOUND_WITHIN_S = 360.0
"""The share of a handler's idle time is a mean that forgets two thirds in a minute: three minutes until it is below a
twentieth, and one more in which it has to stay there."""

TOPIC = "packed"
TO_PACK = {
    "compression.type": "gzip",
    "compression.gzip.level": "9",
    "min.insync.replicas": "1",
    "retention.bytes": "33554432",
    "segment.bytes": "8388608",
}


def test_a_request_handler_without_a_rest_is_found_and_gone_once_it_has_one(tmp_path: Path) -> None:
    with _small(tmp_path, ONE_OF_EACH) as cluster:
        with _producing(4):
            found = cluster.finding(HANDLERS, timeout_s=FOUND_WITHIN_S)
            now = cluster.broker_running("b-1", after=cluster.server.count(cluster.broker.instance))
        assert found.numbers["idle"] < 0.05
        assert found.numbers["over_s"] >= 60
        assert PROCESSORS not in [f.name for f in now.findings], "it waits for the handler most of the time"
        cluster.without_finding(HANDLERS)


def test_a_network_processor_that_cannot_hand_on_what_it_has_read_is_found_and_gone_once_it_can(tmp_path: Path) -> None:
    """With room for one request between them, the processor stands still for as long as the handler works."""
    with _small(tmp_path, {**ONE_OF_EACH, "queued.max.requests": "1"}) as cluster:
        with _producing(6):
            found = cluster.finding(PROCESSORS, timeout_s=FOUND_WITHIN_S)
        assert found.numbers["idle"] < 0.05
        assert found.numbers["over_s"] >= 60
        cluster.without_finding(PROCESSORS)


@contextmanager
def _small(base: Path, settings: Mapping[str, str]) -> Iterator[Cluster]:
    """A broker that is well, so far, and has a topic whose batches are packed as well as can be."""
    with serving(Cluster(base / "vms", settings=settings)) as cluster:
        said = cluster.broker_running("b-1", after=cluster.server.count(cluster.broker.instance))
        assert not {HANDLERS, PROCESSORS} & {f.name for f in said.findings}
        admin = AdminClient({"bootstrap.servers": f"{BROKER}:9092", "log_level": 0})
        admin.create_topics([NewTopic(TOPIC, 4, 1, config=TO_PACK)])[TOPIC].result(20)
        yield cluster


@contextmanager
def _producing(producers: int) -> Iterator[None]:
    """So many send batches that come unpacked, faster than one handler packs them."""
    leaving = threading.Event()
    workers = [threading.Thread(target=_produce, args=(leaving,)) for _ in range(producers)]
    for worker in workers:
        worker.start()
    try:
        yield
    finally:
        leaving.set()
        for worker in workers:
            worker.join(30)


def _produce(leaving: threading.Event) -> None:
    producer = Producer(
        {
            "bootstrap.servers": f"{BROKER}:9092",
            "log_level": 0,
            "acks": "1",
            "compression.type": "none",
            "batch.size": 900_000,
            "linger.ms": 100,
            "queue.buffering.max.kbytes": 8192,
        }
    )
    text = b"".join(b"%d words of a log that is worth packing;" % (n * 7919) for n in range(200))
    while not leaving.is_set():
        try:
            producer.produce(TOPIC, text)
        except BufferError:
            producer.poll(0.1)
    producer.purge()
    producer.flush(5)
