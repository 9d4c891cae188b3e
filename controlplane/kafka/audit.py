"""Was anything lost? Every record of ours names its producer and a sequence number; what was acknowledged is
compared with a fresh read of the whole topics."""

import struct
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition

from controlplane.kafka.deadline import Deadline
from controlplane.kafka.errors import KafkaUnavailable

_HEAD = struct.Struct(">4sIQ")
_MAGIC = b"KDG1"
HEAD_BYTES = _HEAD.size
"""Bytes of a record before its filler."""

RecordName = tuple[int, int]
"""(producer, sequence)."""


@dataclass(frozen=True, slots=True)
class Audit:
    """Counts of records. `read` are distinct ones; `lost` were acknowledged and not read; `duplicated` are
    copies beyond the first; `unacknowledged` were read though their acknowledgement never came (allowed: the
    answer was lost)."""

    acknowledged: int
    read: int
    lost: int
    duplicated: int
    unacknowledged: int
    failed: int
    """Records whose delivery was given up."""
    lost_examples: tuple[RecordName, ...] = ()

    @property
    def is_clean(self) -> bool:
        return self.lost == 0 and self.duplicated == 0


class Ledger:
    """What was sent and acknowledged, by producer. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next: list[int] = []
        self._acknowledged: list[set[int]] = []
        self._failed = 0

    def new_producer(self) -> int:
        with self._lock:
            self._next.append(0)
            self._acknowledged.append(set())
            return len(self._next) - 1

    def next_sequence(self, producer: int) -> int:
        with self._lock:
            self._next[producer] += 1
            return self._next[producer] - 1

    def acknowledge(self, name: RecordName) -> None:
        with self._lock:
            self._acknowledged[name[0]].add(name[1])

    def fail(self) -> None:
        """A record whose delivery was given up: it may be in the log or not."""
        with self._lock:
            self._failed += 1

    @property
    def acknowledged(self) -> int:
        with self._lock:
            return sum(map(len, self._acknowledged))

    def acknowledged_of(self, producer: int) -> int:
        with self._lock:
            return len(self._acknowledged[producer])

    def audit(self, read: Iterable[RecordName]) -> Audit:
        """Compare with the names of all records found in the topics, copies included."""
        with self._lock:
            acknowledged = {(p, s) for p, seen in enumerate(self._acknowledged) for s in seen}
            failed = self._failed
        distinct: set[RecordName] = set()
        copies = 0
        for name in read:
            copies += 1
            distinct.add(name)
        lost = acknowledged - distinct
        return Audit(
            acknowledged=len(acknowledged),
            read=len(distinct),
            lost=len(lost),
            duplicated=copies - len(distinct),
            unacknowledged=len(distinct - acknowledged),
            failed=failed,
            lost_examples=tuple(sorted(lost)[:5]),
        )


def record(name: RecordName, size_bytes: int) -> bytes:
    """A record of at least `size_bytes` that carries its name."""
    return _HEAD.pack(_MAGIC, *name) + b"x" * max(0, size_bytes - HEAD_BYTES)


def name_of(value: bytes | None) -> RecordName | None:
    """The name a record carries; None for records that are not ours."""
    if value is None or len(value) < HEAD_BYTES:
        return None
    magic, producer, sequence = _HEAD.unpack_from(value)
    return (producer, sequence) if magic == _MAGIC else None


def read_names(bootstrap: str, topics: Sequence[str], *, timeout_s: float = 180.0) -> list[RecordName]:
    """Names of all our records in `topics`, from offset 0 to the ends as they are now, with a client of its
    own.

    Raises KafkaUnavailable when the ends are not reached in time.
    """
    deadline = Deadline.after(timeout_s)
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "kedge-audit",
            "enable.auto.commit": False,
            "log_level": 0,
            "fetch.message.max.bytes": 8 << 20,
        }
    )
    try:
        left = _ends(consumer, topics)
        consumer.assign([TopicPartition(t, p, OFFSET_BEGINNING) for t, p in left])
        return _read_until(consumer, left, deadline, where=bootstrap)
    except KafkaException as e:
        raise KafkaUnavailable(what="the audit's read", where=bootstrap, why=str(e)) from e
    finally:
        consumer.close()


def _ends(consumer: Consumer, topics: Sequence[str]) -> dict[tuple[str, int], int]:
    """End offsets of the partitions that hold anything."""
    ends = {}
    for topic in topics:
        for partition in consumer.list_topics(topic, timeout=10).topics[topic].partitions:
            low, high = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=10)
            if high > low:
                ends[topic, partition] = high
    return ends


def _read_until(
    consumer: Consumer, left: dict[tuple[str, int], int], deadline: Deadline, *, where: str
) -> list[RecordName]:
    names = []
    while left:
        if deadline.is_over:
            behind = ", ".join(f"{t}-{p}" for t, p in sorted(left)[:3])
            raise KafkaUnavailable(
                what="the audit's read", where=where, why=f"{len(left)} partitions not read to their end ({behind})"
            )
        for message in consumer.consume(5000, timeout=0.5):
            if message.error():
                continue  # librdkafka retries by itself; the deadline judges
            name = name_of(message.value())
            if name is not None:
                names.append(name)
            key = (str(message.topic()), int(message.partition() or 0))
            if int(message.offset() or 0) + 1 >= left.get(key, 1 << 62):
                del left[key]
    return names
