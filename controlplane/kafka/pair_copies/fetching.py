"""Reads records of many partitions at once, by Fetch requests to their leaders without a session."""

from collections.abc import Mapping
from typing import Any

from kafka.errors import for_code
from kafka.protocol.consumer import FetchRequest

from controlplane.kafka.deadline import Deadline
from controlplane.kafka.dialer import Connection
from controlplane.kafka.offsets import ask_each
from controlplane.kafka.pair_copies.batches import UnreadableBatch, stretch_of
from controlplane.kafka.pair_copies.log_edge import LogStretch, UnreadableRecords
from planner.observed import TopicPartition

_PARTITION_BYTES, _ANSWER_BYTES = 128 << 10, 16 << 20
_MOST_PARTITIONS = 200
"""In one request."""


class Fetching:
    """Of one cluster, whose partitions have these leaders, until the deadline."""

    def __init__(self, connection: Connection, deadline: Deadline, leaders: Mapping[TopicPartition, int]) -> None:
        self._connection, self._deadline, self._leaders = connection, deadline, leaders

    def stretches(self, at: Mapping[TopicPartition, int]) -> dict[TopicPartition, LogStretch | str]:
        """See ClusterLogs.

        A broker sends the first batch of the first partition of a request whatever its size, and cuts off what is over
        the limits of the others: those are asked for once more, so each request brings one on.
        """
        led = {p: self._leaders.get(p, -1) for p in sorted(at)}
        found: dict[TopicPartition, LogStretch | str] = {p: "it has no leader" for p, n in led.items() if n < 0}
        left = [p for p, n in led.items() if n >= 0]
        while left:
            by_leader: dict[int, list[TopicPartition]] = {}
            for p in left:
                by_leader.setdefault(led[p], []).append(p)
            asked = {n: ps[:_MOST_PARTITIONS] for n, ps in by_leader.items()}
            requests = {n: _request({p: at[p] for p in ps}) for n, ps in asked.items()}
            answers = ask_each(self._connection, requests, "reading records", self._deadline)
            for node, partitions in asked.items():
                found |= _taken(answers.get(node), node, {p: at[p] for p in partitions})
            left = [p for p in left if p not in found]
        return found


def _taken(answer: Any, node: int, at: Mapping[TopicPartition, int]) -> dict[TopicPartition, LogStretch | str]:
    """What one broker's answer says of each partition. One that its limits cut off is missing, the first never is."""
    if answer is None:
        return dict.fromkeys(at, f"broker {node} did not answer")
    if answer.error_code:
        return dict.fromkeys(at, f"broker {node} refused ({for_code(answer.error_code).__name__})")
    found: dict[TopicPartition, LogStretch | str] = {}
    for topic in answer.responses:
        for data in topic.partitions:
            p = TopicPartition(topic.topic, data.partition_index)
            if data.error_code:
                found[p] = f"broker {node} refused ({for_code(data.error_code).__name__})"
                continue
            try:
                read = stretch_of(bytes(data.records or b""), at[p])
            except UnreadableBatch as e:
                found[p] = UnreadableRecords(e)
                continue
            is_cut_off = read is None or (read.next == at[p] and data.high_watermark > at[p])
            if read is not None and not is_cut_off:
                found[p] = read
    first = next(iter(at))
    return found if first in found else {first: "its leader sent no whole batch", **found}


def _request(at: Mapping[TopicPartition, int]) -> Any:
    topic = FetchRequest.FetchTopic
    by_topic: dict[str, list[TopicPartition]] = {}
    for p in at:
        by_topic.setdefault(p.topic, []).append(p)
    return FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=_ANSWER_BYTES,
        isolation_level=0,
        topics=[
            topic(
                topic=name,
                partitions=[
                    topic.FetchPartition(
                        partition=p.partition, fetch_offset=at[p], partition_max_bytes=_PARTITION_BYTES
                    )
                    for p in partitions
                ],
            )
            for name, partitions in by_topic.items()
        ],
        max_version=12,
    )
