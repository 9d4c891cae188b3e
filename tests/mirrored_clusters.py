"""Two clusters of one broker each, and a topic that is copied from the one to the other."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition

from agent.services.mirror_maker import offsets_topic
from tests.kafka_processes import KafkaProcesses
from tests.kafka_topics import create_topic

TOPIC, PARTITIONS = "payments.eu", 3
VERSION = "4.2.0"
COPIED_WITHIN_S = 180.0
Log = dict[int, list[tuple[int, bytes, int]]]
"""By partition: offset, value and timestamp of each record."""


@contextlib.contextmanager
def two_clusters(root: Path, networks: tuple[str, str]) -> Iterator[tuple[KafkaProcesses, KafkaProcesses]]:
    """`networks`: of each, as in `127.0.98`. Both have the topic."""
    with contextlib.ExitStack() as over:
        made = []
        for name, network in zip(("eu", "us"), networks, strict=True):
            kafka = KafkaProcesses(root / name, network=network, min_isr=1, replication=1, version=VERSION)
            over.callback(kafka.close)
            kafka.found({1000: "a"})
            create_topic(kafka.bootstrap, TOPIC, partitions=PARTITIONS, rf=1)
            made.append(kafka)
        yield made[0], made[1]


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


def kept_offsets(target: KafkaProcesses, source: str) -> dict[int, int]:
    """By partition, the offset of the last record that MirrorMaker will not copy again: nothing is known of others."""
    consumer = Consumer({"bootstrap.servers": target.bootstrap[0], "group.id": "reads", "enable.auto.commit": False})
    try:
        _, high = consumer.get_watermark_offsets(TopicPartition(offsets_topic(source), 0), timeout=20)
        consumer.assign([TopicPartition(offsets_topic(source), 0, 0)])
        found: dict[int, int] = {}
        at = -1
        while at < high - 1:
            message = consumer.poll(20)
            assert message is not None
            assert message.error() is None
            at = message.offset() or 0
            _, of = json.loads(message.key() or b"[]")
            found[of["partition"]] = json.loads(message.value() or b"{}").get("offset", -1)
        return found
    finally:
        consumer.close()
