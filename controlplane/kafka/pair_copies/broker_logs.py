"""Logs and groups of one cluster by Kafka's own messages over a Connection, so that addresses are judged and secured as
in every other call. Topics are named, which Fetch takes up to v12 and Produce up to v12 (KIP-516)."""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from kafka.protocol.admin import CreateTopicsRequest
from kafka.protocol.producer import ProduceRequest
from kafka.record.memory_records import MemoryRecordsBuilder

from controlplane.kafka.admin_calls.groups import commit_at
from controlplane.kafka.deadline import Deadline
from controlplane.kafka.dialer import Connection
from controlplane.kafka.errors import KafkaRefused, KafkaUnavailable, fault_of
from controlplane.kafka.groups import find_coordinator, read_groups
from controlplane.kafka.offsets import EARLIEST, LATEST, leaders_of, log_offsets, topic_ids_of
from controlplane.kafka.pair_copies.fetching import Fetching
from controlplane.kafka.pair_copies.log_edge import KeyedRecord, LogStretch
from controlplane.kafka.pair_copies.values import LogExtent
from planner.consumers.seen import GroupSeen
from planner.observed import TopicPartition

_ALL_IN_SYNC = -1
_EXISTS = 36
_BATCH_BYTES, _BATCH_RECORDS = 1 << 20, 500
_PAUSE_S = 0.1
_MOST_GROUPS, _MOST_PARTITIONS = 100_000, 2_000_000
"""Of all groups of a cluster: more, and nobody can say that every one was aligned."""


class BrokerLogs:
    """See ClusterLogs."""

    def __init__(
        self,
        connection: Connection,
        deadline: Deadline,
        now: Callable[[], datetime],
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        self._connection, self._deadline, self._now, self._wait = connection, deadline, now, wait
        self._leaders: dict[TopicPartition, int] = {}
        connection.refresh_nodes(deadline)

    @property
    def name(self) -> str:
        return self._connection.name

    def extents(self, topics: Collection[str]) -> Mapping[TopicPartition, LogExtent]:
        leaders = self._led(topics)
        firsts = log_offsets(self._connection, leaders, leaders, EARLIEST, self._deadline)
        ends = log_offsets(self._connection, leaders, leaders, LATEST, self._deadline)
        unknown = sorted(str(p) for p in leaders if p not in ends or p not in firsts)
        if unknown:
            raise self._unavailable("reading log offsets", f"the leaders of {_some(unknown)} did not answer")
        return {p: LogExtent(firsts[p], ends[p]) for p in sorted(leaders)}

    def topic_ids(self, topics: Collection[str]) -> Mapping[str, str]:
        return topic_ids_of(self._connection, sorted(topics), self._deadline)

    def stretches(self, at: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, LogStretch | str]:
        unknown = {p.topic for p in at if p not in self._leaders}
        if unknown:
            self._led(unknown)
        return Fetching(self._connection, self._deadline, self._leaders).stretches(at)

    def first_at(self, times: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        leaders = self._led({p.topic for p in times})
        found = log_offsets(self._connection, leaders, times, times, self._deadline, with_none=True)
        unknown = sorted(str(p) for p in times if p not in found)
        if unknown:
            raise self._unavailable("looking for a time", f"the leaders of {_some(unknown)} did not answer")
        return found

    def groups(self, names: Collection[str] | None) -> Sequence[GroupSeen]:
        seen = read_groups(
            self._connection,
            names,
            self._deadline,
            self._now,
            most_groups=_MOST_GROUPS,
            most_partitions=_MOST_PARTITIONS,
        )
        left = [f"brokers {_some(map(str, seen.silent))} did not answer"] if seen.silent else []
        left += [f"{_some(seen.unread)} could not be read"] if seen.unread else []
        left += [f"there are {seen.left_out} groups more than one look reads"] if seen.left_out else []
        if left:
            raise self._unavailable("reading groups", ", ".join(left))
        return seen.groups

    def commit(self, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        what = f"committing offsets of {group}"
        node = find_coordinator(self._connection, group, self._deadline)
        refused = commit_at(self._connection, group, offsets, node, self._deadline)
        if refused:
            (partition, words), more = next(iter(sorted(refused.items()))), len(refused) - 1
            words = f"{partition}: {words}" + (f", and {more} more" if more else "")
            raise KafkaRefused(what=what, where=self.name, words=words, error="OffsetCommit")

    def make_compacted(self, topic: str, replication_factor: int) -> None:
        there = self._led([topic])
        if len(there) > 1:
            words = f"it has {len(there)} partitions, and MirrorMaker is told of 1"
            raise KafkaRefused(what=f"making {topic}", where=self.name, words=words, error="InvalidPartitions")
        if not there:
            self._make(topic, replication_factor)
        while self._led([topic]).get(TopicPartition(topic, 0), -1) < 0:
            self._pause(f"making {topic}", "it has no leader yet")

    def append(self, partition: TopicPartition, records: Sequence[KeyedRecord]) -> None:
        for start in range(0, len(records), _BATCH_RECORDS):
            self._produce(partition, records[start : start + _BATCH_RECORDS])

    def _make(self, topic: str, replication_factor: int) -> None:
        shape = CreateTopicsRequest.CreatableTopic
        made = shape(
            name=topic,
            num_partitions=1,
            replication_factor=replication_factor,
            assignments=[],
            configs=[shape.CreatableTopicConfig(name="cleanup.policy", value="compact")],
        )
        request = CreateTopicsRequest(topics=[made], timeout_ms=int(self._deadline.left_s * 1000), validate_only=False)
        what = f"making {topic}"
        answer = self._connection.ask(request, what=what, deadline=self._deadline)
        for result in answer.topics:
            if result.error_code not in (0, _EXISTS):
                raise fault_of(result.error_code, result.error_message, what=what, where=self.name)

    def _produce(self, partition: TopicPartition, records: Sequence[KeyedRecord]) -> None:
        builder, stamp = MemoryRecordsBuilder(2, 0, _BATCH_BYTES), int(self._now().timestamp() * 1000)
        what = f"writing to {partition}"
        for key, value in records:
            if builder.append(stamp, key, value) is None:
                raise ValueError(f"{len(records)} records are more than one batch takes")
        builder.close()
        topic = ProduceRequest.TopicProduceData
        data = topic.PartitionProduceData(index=partition.partition, records=bytes(builder.buffer()))
        request = ProduceRequest(
            transactional_id=None,
            acks=_ALL_IN_SYNC,
            timeout_ms=int(self._deadline.left_s * 1000),
            topic_data=[topic(name=partition.topic, partition_data=[data])],
            max_version=12,
        )
        answer = self._connection.ask(
            request, what=what, deadline=self._deadline, node=self._led([partition.topic]).get(partition, -1)
        )
        for result in (p for t in answer.responses for p in t.partition_responses):
            if result.error_code:
                raise fault_of(result.error_code, None, what=what, where=self.name)

    def _led(self, topics: Collection[str]) -> dict[TopicPartition, int]:
        found = leaders_of(self._connection, sorted(topics), self._deadline)
        self._leaders |= found
        return found

    def _pause(self, what: str, why: str) -> None:
        if self._deadline.left_s <= _PAUSE_S:
            raise self._unavailable(what, why)
        self._wait(_PAUSE_S)

    def _unavailable(self, what: str, why: str) -> KafkaUnavailable:
        return KafkaUnavailable(what=what, where=self.name, why=why)


def _some(names: Iterable[Any]) -> str:
    known = [str(name) for name in names]
    return ", ".join(known[:5]) + (f" and {len(known) - 5} more" if len(known) > 5 else "")
