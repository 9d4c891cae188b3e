"""Two small clusters with logs that tests write record by record, in memory and for real."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition as ClientPartition
from confluent_kafka.admin import AdminClient

from controlplane.kafka.dialer import DirectDialer
from controlplane.kafka.pair_copies.log_edge import LogRecord
from controlplane.kafka.pair_copies.logs import broker_pair_logs
from controlplane.kafka.pair_copies.port import PairLogs
from controlplane.kafka.pair_copies.values import FlowEnd, FlowEnds
from planner.observed import TopicPartition
from tests.fakes.pair_logs import FakePairLogs, MemoryCluster
from tests.kafka_processes import KafkaProcesses
from tests.kafka_topics import create_topic
from tests.waiting import patient, until

EU, US = "eu", "us"
BROKER = 1000


@dataclass(frozen=True)
class Written:
    """A record that a test writes."""

    value: bytes | None
    key: bytes | None = None
    at_ms: int = 1_790_000_000_000
    headers: tuple[tuple[str, bytes | None], ...] = ()


class World(Protocol):
    """The port, and hands on both clusters."""

    logs: PairLogs

    def flow(self, source: str = EU, target: str = US) -> FlowEnds: ...
    def create_topic(self, side: str, topic: str, *, partitions: int = 1, compacted: bool = False) -> None: ...
    def delete_topic(self, side: str, topic: str) -> None: ...
    def write(self, side: str, p: TopicPartition, records: Sequence[Written], *, codec: str = "none") -> None: ...
    def transact(self, side: str, p: TopicPartition, records: Sequence[Written], *, aborts: bool = False) -> None: ...
    def trim(self, side: str, p: TopicPartition, before: int) -> None: ...
    def compact(self, side: str, p: TopicPartition) -> None: ...
    def commit(self, side: str, group: str, p: TopicPartition, offset: int) -> None: ...
    def committed(self, side: str, group: str, p: TopicPartition) -> int | None: ...
    def join(self, side: str, group: str, topic: str) -> None: ...


class FakeWorld:
    def __init__(self, name: str) -> None:
        self._name = name
        self.clusters = {side: MemoryCluster(f"{side}-{name}") for side in (EU, US)}
        self.logs: PairLogs = FakePairLogs(*self.clusters.values())

    def flow(self, source: str = EU, target: str = US) -> FlowEnds:
        one, other = (FlowEnd(f"{side}-{self._name}", ("nowhere:1",)) for side in (source, target))
        return FlowEnds(one, other, replication_factor=1)

    def create_topic(self, side: str, topic: str, *, partitions: int = 1, compacted: bool = False) -> None:
        self.clusters[side].create_topic(topic, partitions)

    def delete_topic(self, side: str, topic: str) -> None:
        self.clusters[side].delete_topic(topic)

    def write(self, side: str, p: TopicPartition, records: Sequence[Written], *, codec: str = "none") -> None:
        for r in records:
            self.clusters[side].logs[p].append(LogRecord(0, r.at_ms, r.key, r.value, r.headers))

    def transact(self, side: str, p: TopicPartition, records: Sequence[Written], *, aborts: bool = False) -> None:
        self.write(side, p, records)
        self.clusters[side].logs[p].mark()

    def trim(self, side: str, p: TopicPartition, before: int) -> None:
        self.clusters[side].logs[p].trim(before)

    def compact(self, side: str, p: TopicPartition) -> None:
        self.clusters[side].logs[p].compact()

    def commit(self, side: str, group: str, p: TopicPartition, offset: int) -> None:
        self.clusters[side].commit(group, {p: offset})

    def committed(self, side: str, group: str, p: TopicPartition) -> int | None:
        known = self.clusters[side].known_groups.get(group)
        return known.committed.get(p) if known else None

    def join(self, side: str, group: str, topic: str) -> None:
        self.clusters[side].join(group, topic)


class RealPair:
    """Two clusters of one broker each, for all tests of a module."""

    def __init__(self, root: Path) -> None:
        self.processes: dict[str, KafkaProcesses] = {}
        self.dialer = DirectDialer()
        self.logs: PairLogs = broker_pair_logs(self.dialer, limit_s=patient(10.0))
        try:
            for side, network in ((EU, "127.0.108"), (US, "127.0.109")):
                self.processes[side] = kafka = KafkaProcesses(
                    root / side,
                    network=network,
                    min_isr=1,
                    replication=1,
                    version="4.2.0",
                    properties={"log.cleaner.backoff.ms": "200"},
                )
                kafka.found({BROKER: "a"})
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self.dialer.close()
        for kafka in self.processes.values():
            kafka.close()


class RealWorld:
    """A test's own hands; uids of its own, so that no other test's records of offsets are found."""

    def __init__(self, pair: RealPair, name: str) -> None:
        self._pair, self._name = pair, name
        self.logs = pair.logs
        self._readers: list[Consumer] = []

    def flow(self, source: str = EU, target: str = US) -> FlowEnds:
        one, other = (FlowEnd(f"{s}-{self._name}", tuple(self._pair.processes[s].bootstrap)) for s in (source, target))
        return FlowEnds(one, other, replication_factor=1)

    def create_topic(self, side: str, topic: str, *, partitions: int = 1, compacted: bool = False) -> None:
        quick = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "segment.ms": "500"}
        create_topic(
            self._pair.processes[side].bootstrap,
            topic,
            partitions=partitions,
            rf=1,
            settings=quick if compacted else {},
        )

    def delete_topic(self, side: str, topic: str) -> None:
        admin = self._admin(side)
        admin.delete_topics([topic])[topic].result(20)
        until(lambda: topic not in admin.list_topics(timeout=5).topics, f"{topic} to be gone")

    def write(self, side: str, p: TopicPartition, records: Sequence[Written], *, codec: str = "none") -> None:
        producer = Producer({**self._client(side), "acks": "all", "linger.ms": 50, "compression.codec": codec})
        self._send(producer, p, records)
        assert producer.flush(patient(20)) == 0

    def transact(self, side: str, p: TopicPartition, records: Sequence[Written], *, aborts: bool = False) -> None:
        producer = Producer({**self._client(side), "transactional.id": f"t-{self._name}"})
        producer.init_transactions(patient(30))
        producer.begin_transaction()
        self._send(producer, p, records)
        assert producer.flush(patient(20)) == 0
        if aborts:
            producer.abort_transaction(patient(30))
        else:
            producer.commit_transaction(patient(30))
        # The marker is written after the coordinator's answer.
        until(lambda: self._end(side, p) > len(records), "the marker")

    def trim(self, side: str, p: TopicPartition, before: int) -> None:
        where = ClientPartition(p.topic, p.partition, before)
        admin = self._admin(side)  # kept: its answers end with it
        for future in admin.delete_records([where]).values():
            future.result(20)

    def compact(self, side: str, p: TopicPartition) -> None:
        until(lambda: self._count(side, p) < self._end(side, p), "compaction", timeout_s=patient(90), every_s=1.0)

    def commit(self, side: str, group: str, p: TopicPartition, offset: int) -> None:
        where = ConsumerGroupTopicPartitions(group, [ClientPartition(p.topic, p.partition, offset)])
        admin = self._admin(side)
        admin.alter_consumer_group_offsets([where])[group].result(20)

    def committed(self, side: str, group: str, p: TopicPartition) -> int | None:
        reader = Consumer({**self._client(side), "group.id": group, "enable.auto.commit": False})
        try:
            (found,) = reader.committed([ClientPartition(p.topic, p.partition)], timeout=20)
            return found.offset if found.offset >= 0 else None
        finally:
            reader.close()

    def join(self, side: str, group: str, topic: str) -> None:
        reader = Consumer({**self._client(side), "group.id": group, "enable.auto.commit": False})
        self._readers.append(reader)
        reader.subscribe([topic])

        def has_some() -> bool:
            reader.poll(0.1)
            return bool(reader.assignment())

        until(has_some, "an assignment", timeout_s=patient(30))

    def close(self) -> None:
        for reader in self._readers:
            reader.close()

    def _send(self, producer: Producer, p: TopicPartition, records: Sequence[Written]) -> None:
        for r in records:
            producer.produce(
                p.topic, r.value, r.key, partition=p.partition, timestamp=r.at_ms, headers=list(r.headers) or None
            )

    def _end(self, side: str, p: TopicPartition) -> int:
        reader = Consumer({**self._client(side), "group.id": "ends"})
        try:
            _, high = reader.get_watermark_offsets(ClientPartition(p.topic, p.partition), timeout=20)
            return int(high)
        finally:
            reader.close()

    def _count(self, side: str, p: TopicPartition) -> int:
        """Records there are: fewer than offsets once the log was compacted."""
        reader = Consumer({**self._client(side), "group.id": "counts", "enable.partition.eof": True})
        try:
            reader.assign([ClientPartition(p.topic, p.partition, 0)])
            count = 0
            while (message := reader.poll(20)) is not None and message.error() is None:
                count += 1
            return count
        finally:
            reader.close()

    def _admin(self, side: str) -> AdminClient:
        return AdminClient(self._client(side))

    def _client(self, side: str) -> dict[str, str | int | float | bool]:
        return {"bootstrap.servers": ",".join(self._pair.processes[side].bootstrap), "log_level": 0}
