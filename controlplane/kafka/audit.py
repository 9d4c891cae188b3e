"""Was anything lost? Every record of ours names its producer and a sequence number; what was acknowledged is
compared with a fresh read of the whole topics."""

import struct
import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition

from controlplane.kafka.deadline import Deadline
from controlplane.kafka.errors import KafkaUnavailable

_HEAD = struct.Struct(">4sIQ")
_MAGIC = b"KDG1"
HEAD_BYTES = _HEAD.size
"""Bytes of a record before its filler."""

RecordName = tuple[int, int]
"""(producer, sequence)."""

Place = tuple[str, int, int]
"""(topic, partition, offset)."""

EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Audit:
    """Counts of records. `read` are distinct ones; `lost` were acknowledged and not read; `duplicated` are
    copies at other offsets than the first; `unacknowledged` were read though their acknowledgement never came
    (allowed: the answer was lost)."""

    acknowledged: int
    read: int
    lost: int
    duplicated: int
    unacknowledged: int
    failed: int
    """Records whose delivery was given up."""
    lost_examples: tuple[RecordName, ...] = ()
    lost_places: tuple[str, ...] = ()
    """Where the lost examples were acknowledged, and what is at that place now, in words."""
    duplicated_examples: tuple[tuple[RecordName, tuple[Place, ...]], ...] = ()
    """Records found more than once, each with all its places."""

    @property
    def is_clean(self) -> bool:
        return self.lost == 0 and self.duplicated == 0


class Ledger:
    """What was sent and acknowledged, by producer. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next: list[int] = []
        self._acknowledged: list[dict[int, Place | None]] = []
        self._failed = 0

    def new_producer(self) -> int:
        with self._lock:
            self._next.append(0)
            self._acknowledged.append({})
            return len(self._next) - 1

    def next_sequence(self, producer: int) -> int:
        with self._lock:
            self._next[producer] += 1
            return self._next[producer] - 1

    def acknowledge(self, name: RecordName, place: Place | None = None) -> None:
        """`place`: where the leader said that it is."""
        with self._lock:
            self._acknowledged[name[0]][name[1]] = place

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

    def audit(self, read: Mapping[Place, RecordName]) -> Audit:
        """Compare with the names of all records found in the topics, by the place each was found at."""
        with self._lock:
            acknowledged = {(p, s): at for p, seen in enumerate(self._acknowledged) for s, at in seen.items()}
            failed = self._failed
        distinct = set(read.values())
        lost = sorted(acknowledged.keys() - distinct)
        return Audit(
            acknowledged=len(acknowledged),
            read=len(distinct),
            lost=len(lost),
            duplicated=len(read) - len(distinct),
            unacknowledged=len(distinct - acknowledged.keys()),
            failed=failed,
            lost_examples=tuple(lost[:EXAMPLES]),
            lost_places=tuple(_instead(acknowledged[name], read) for name in lost[:EXAMPLES]),
            duplicated_examples=_found_again(read) if len(read) > len(distinct) else (),
        )


def _instead(place: Place | None, read: Mapping[Place, RecordName]) -> str:
    if place is None:
        return "nobody said where"
    topic, partition, offset = place
    there = read.get(place)
    ends = max((o for t, p, o in read if (t, p) == (topic, partition)), default=-1)
    return f"{topic}-{partition} offset {offset}: {there or 'nothing'} is there, the last one read has {ends}"


def _found_again(read: Mapping[Place, RecordName]) -> tuple[tuple[RecordName, tuple[Place, ...]], ...]:
    places: dict[RecordName, list[Place]] = defaultdict(list)
    for place, name in read.items():
        places[name].append(place)
    again = ((name, tuple(sorted(found))) for name, found in sorted(places.items()) if len(found) > 1)
    return tuple(islice(again, EXAMPLES))


def record(name: RecordName, size_bytes: int) -> bytes:
    """A record of at least `size_bytes` that carries its name."""
    return _HEAD.pack(_MAGIC, *name) + b"x" * max(0, size_bytes - HEAD_BYTES)


def name_of(value: bytes | None) -> RecordName | None:
    """The name a record carries; None for records that are not ours."""
    if value is None or len(value) < HEAD_BYTES:
        return None
    magic, producer, sequence = _HEAD.unpack_from(value)
    return (producer, sequence) if magic == _MAGIC else None


def read_names(bootstrap: str, topics: Sequence[str], *, timeout_s: float = 180.0) -> dict[Place, RecordName]:
    """All our records in `topics`, from offset 0 to the ends as they are now, with a client of its own.

    By place, since a client whose partition changes its leader may be handed the same offset twice: that is one
    record of the log, not two.

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
) -> dict[Place, RecordName]:
    names = {}
    while left:
        if deadline.is_over:
            behind = ", ".join(f"{t}-{p}" for t, p in sorted(left)[:3])
            raise KafkaUnavailable(
                what="the audit's read", where=where, why=f"{len(left)} partitions not read to their end ({behind})"
            )
        for message in consumer.consume(5000, timeout=0.5):
            if message.error():
                continue  # librdkafka retries by itself; the deadline judges
            topic, partition, offset = str(message.topic()), int(message.partition() or 0), int(message.offset() or 0)
            name = name_of(message.value())
            if name is not None:
                names[topic, partition, offset] = name
            if offset + 1 >= left.get((topic, partition), 1 << 62):
                del left[topic, partition]
    return names
