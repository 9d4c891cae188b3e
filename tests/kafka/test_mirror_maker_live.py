"""MirrorMaker 2 as Kedge tells it, between two real clusters: offsets come out identical, and the way back copies none
twice."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from agent.host_port import HostPort
from agent.services.mirror_maker import MirrorEnd, MirrorFlow, mirror_properties, offsets_topic, start_after
from tests.kafka_processes import KafkaProcesses, die_with
from tests.kafka_topics import create_topic
from tests.waiting import patient, until

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(600)]

LIBS = Path(__file__).parents[2] / ".cache" / "mirror-maker" / "libs"
TOPIC, PARTITIONS = "payments.eu", 3
COPIED_WITHIN_S = 180.0
Log = dict[int, list[tuple[int, bytes, int]]]
"""By partition: offset, value and timestamp of each record."""


@pytest.fixture
def ends(tmp_path: Path) -> Iterator[tuple[KafkaProcesses, KafkaProcesses]]:
    with contextlib.ExitStack() as over:
        made = []
        for name, network in (("eu", "127.0.98"), ("us", "127.0.99")):
            kafka = KafkaProcesses(tmp_path / name, network=network, min_isr=1, replication=1, version="4.2.0")
            over.callback(kafka.close)
            kafka.found({1000: "a"})
            create_topic(kafka.bootstrap, TOPIC, partitions=PARTITIONS, rf=1)
            made.append(kafka)
        yield made[0], made[1]


def test_the_way_there_and_back_keeps_every_offset_and_copies_nothing_twice(
    ends: tuple[KafkaProcesses, KafkaProcesses], tmp_path: Path
) -> None:
    eu, us = ends
    produce(eu, "before", 600)
    with copying(eu, us, tmp_path / "there"):
        until(lambda: log(us) == log(eu) or None, "the first copy", timeout_s=patient(COPIED_WITHIN_S), every_s=1.0)
        produce(eu, "beside", 300)
        until(lambda: log(us) == log(eu) or None, "the rest", timeout_s=patient(COPIED_WITHIN_S), every_s=1.0)
    switched = log(us)
    produce(us, "after", 200)
    seed(eu, "us", {(TOPIC, p): len(records) for p, records in switched.items()})
    with copying(us, eu, tmp_path / "back", names=("us", "eu")):
        until(lambda: log(eu) == log(us) or None, "the way back", timeout_s=patient(COPIED_WITHIN_S), every_s=1.0)
    values = sorted(value for records in log(eu).values() for _, value, _ in records)
    written = {"before": 600, "beside": 300, "after": 200}
    assert values == sorted(f"{word} {n}".encode() for word, count in written.items() for n in range(count))


@contextlib.contextmanager
def copying(
    source: KafkaProcesses, target: KafkaProcesses, folder: Path, names: tuple[str, str] = ("eu", "us")
) -> Iterator[None]:
    folder.mkdir()
    flow = MirrorFlow(end(names[0], source), end(names[1], target), (TOPIC,), replication_factor=1)
    file = folder / "mm2.properties"
    file.write_text(mirror_properties(flow))
    options = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
    with (folder / "mm2.log").open("wb") as output:
        process = subprocess.Popen(
            ["java", *options, "-cp", f"{LIBS}/*", "org.apache.kafka.connect.mirror.MirrorMaker", str(file)],
            stdout=output,
            stderr=output,
            stdin=subprocess.DEVNULL,
            preexec_fn=partial(die_with, os.getpid()),
        )
    try:
        yield
        assert process.poll() is None, (folder / "mm2.log").read_text()[-3000:]
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=patient(60.0))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def end(name: str, kafka: KafkaProcesses) -> MirrorEnd:
    (address,) = kafka.bootstrap
    host, _, port = address.rpartition(":")
    return MirrorEnd(name, (HostPort(host, int(port)),))


def produce(kafka: KafkaProcesses, word: str, count: int) -> None:
    failed: list[object] = []
    producer = Producer({"bootstrap.servers": kafka.bootstrap[0], "enable.idempotence": True, "linger.ms": 5})
    for n in range(count):
        value = f"{word} {n}".encode()
        producer.produce(
            TOPIC, value, partition=n % PARTITIONS, on_delivery=lambda error, _: failed.append(error) if error else None
        )
    assert producer.flush(60) == 0
    assert failed == []


def seed(kafka: KafkaProcesses, source: str, ends: dict[tuple[str, int], int]) -> None:
    """Where a flow to this cluster begins."""
    topic = offsets_topic(source)
    create_topic(kafka.bootstrap, topic, partitions=1, rf=1, settings={"cleanup.policy": "compact"})
    producer = Producer({"bootstrap.servers": kafka.bootstrap[0]})
    for key, value in start_after(source, ends):
        producer.produce(topic, value, key, partition=0)
    assert producer.flush(60) == 0


def log(kafka: KafkaProcesses) -> Log:
    """All of the topic's."""
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap[0], "group.id": "reads", "enable.auto.commit": False})
    try:
        found: Log = {}
        for partition in range(PARTITIONS):
            low, high = consumer.get_watermark_offsets(TopicPartition(TOPIC, partition), timeout=20)
            assert low == 0
            consumer.assign([TopicPartition(TOPIC, partition, 0)])
            found[partition] = read(consumer, high)
        return found
    finally:
        consumer.close()


def read(consumer: Consumer, high: int) -> list[tuple[int, bytes, int]]:
    records: list[tuple[int, bytes, int]] = []
    while not records or records[-1][0] < high - 1:
        if not high:
            break
        message = consumer.poll(20)
        assert message is not None
        assert message.error() is None
        records.append((message.offset() or 0, message.value() or b"", message.timestamp()[1]))
    return records
