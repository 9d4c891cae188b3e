"""Reads lines of logs from the topic, page by page, for a person who asks."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Protocol

from controlplane.background.log_reader.lines import LogLine, LogQuery, in_time, lines_in
from controlplane.background.log_reader.topic import LOGS_TOPIC
from controlplane.cluster.gateways import bootstrap_of
from controlplane.cluster.server_identities import ServerIdentities
from controlplane.cluster.view import ClusterView
from controlplane.kafka.deadline import Deadline
from controlplane.kafka.errors import KafkaUnavailable

Cursor = Mapping[int, int]
"""By partition: the offset to go on from."""

_AT_ONCE = 4
_PAGE_BYTES = 4 * 2**20
_READ_S, _ASK_S = 8.0, 5.0


@dataclass(frozen=True, slots=True)
class LogPage:
    """`cursor` goes on behind it. `is_end`: there was no more when it was read. `problem`: why there is nothing to
    read at all, in words."""

    lines: tuple[LogLine, ...]
    cursor: Cursor
    is_end: bool
    problem: str = ""


class Journals(Protocol):
    """Lines of logs for those who ask; `KafkaJournals` is one."""

    def read(self, view: ClusterView, wanted: LogQuery, *, after: Cursor, limit: int) -> LogPage:
        """Those behind `after`, or where there is none those of `wanted.since` on: at least `limit` lines unless the
        end comes first, and whole records, so some more. Raises KafkaFault."""


class KafkaJournals:
    """`Journals` by a consumer of its own for each page: no group, nothing committed. Thread-safe; some at a time."""

    def __init__(self, identities: ServerIdentities | None = None) -> None:
        """Without `identities` no cluster that speaks TLS is read."""
        self._identities = identities or ServerIdentities(None)
        self._places = threading.BoundedSemaphore(_AT_ONCE)

    def read(self, view: ClusterView, wanted: LogQuery, *, after: Cursor, limit: int) -> LogPage:
        bootstrap = bootstrap_of(view)
        if not bootstrap:
            raise KafkaUnavailable(what="reading logs", where=view.name, why="no broker of it has an address yet")
        self._identities.know(view)
        secured = self._identities.properties(view.uid)
        if not self._places.acquire(timeout=_ASK_S):
            raise KafkaUnavailable(what="reading logs", where=view.name, why=f"{_AT_ONCE} others read logs just now")
        try:
            return read_page(",".join(bootstrap), wanted, after=after, limit=limit, where=view.name, secured=secured)
        finally:
            self._places.release()


def read_page(
    bootstrap: str,
    wanted: LogQuery,
    *,
    after: Cursor,
    limit: int,
    where: str,
    secured: Mapping[str, str] = MappingProxyType({}),
) -> LogPage:
    """One page of the topic at `bootstrap`; `secured` are librdkafka's properties of TLS. Raises KafkaUnavailable."""
    from confluent_kafka import Consumer, KafkaException

    consumer = Consumer(
        {
            **secured,
            "bootstrap.servers": bootstrap,
            "group.id": LOGS_TOPIC,  # librdkafka wants one; nothing is committed and no group is joined
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "allow.auto.create.topics": False,
            "fetch.wait.max.ms": 100,
            "log_level": 0,
        }
    )
    try:
        known = consumer.list_topics(LOGS_TOPIC, timeout=_ASK_S).topics[LOGS_TOPIC]
        if known.error is not None or not known.partitions:
            return LogPage((), {}, True, f"{where} has no topic {LOGS_TOPIC} yet: agents make it, once they send lines")
        starts, ends = _bounds(consumer, sorted(known.partitions), wanted.since, after)
        return _read(consumer, wanted, starts, ends, limit)
    except KafkaException as error:
        raise KafkaUnavailable(what="reading logs", where=where, why=error.args[0].str()) from error
    finally:
        consumer.close()


def _bounds(
    consumer: Any, partitions: list[int], since: datetime, after: Cursor
) -> tuple[dict[int, int], dict[int, int]]:
    """Where to begin and where the end is now. A cursor behind what is still kept begins with that."""
    from confluent_kafka import TopicPartition

    marks = {n: consumer.get_watermark_offsets(TopicPartition(LOGS_TOPIC, n), timeout=_ASK_S) for n in partitions}
    since_ms = max(0, int(since.timestamp() * 1000))  # below 0 librdkafka takes it for another thing than a time
    new = [TopicPartition(LOGS_TOPIC, n, since_ms) for n in partitions if n not in after]
    found = {p.partition: p.offset for p in consumer.offsets_for_times(new, timeout=_ASK_S)} if new else {}
    starts = {}
    for n, (low, high) in marks.items():
        offset = after[n] if n in after else found[n]
        starts[n] = max(low, offset) if 0 <= offset <= high else high
    return starts, {n: high for n, (_, high) in marks.items()}


def _read(consumer: Any, wanted: LogQuery, starts: dict[int, int], ends: dict[int, int], limit: int) -> LogPage:
    from confluent_kafka import TopicPartition

    cursor = dict(starts)
    left = {n for n in ends if cursor[n] < ends[n]}
    consumer.assign([TopicPartition(LOGS_TOPIC, n, cursor[n]) for n in left])
    deadline, seen = Deadline.after(_READ_S), set[bytes]()
    lines: list[LogLine] = []
    read_bytes = 0
    while left and len(lines) < limit and read_bytes < _PAGE_BYTES and not deadline.is_over:
        message = consumer.poll(0.2)
        if message is None or message.error() is not None:
            continue  # librdkafka retries by itself; the deadline judges
        n, payload = message.partition(), message.value() or b""
        cursor[n], read_bytes = message.offset() + 1, read_bytes + len(payload)
        appended_at = datetime.fromtimestamp(message.timestamp()[1] / 1000, UTC)
        lines += [line for line in lines_in(payload, appended_at=appended_at, seen=seen) if wanted.takes(line)]
        if cursor[n] >= ends[n]:
            left.discard(n)
    return LogPage(tuple(in_time(lines)), cursor, is_end=not left)
