"""Was anything lost? Every record of ours names its producer and a sequence number; what was acknowledged is
compared with a fresh read of the whole topics."""

import struct
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import Any, Protocol

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

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

_ASK_AGAIN_S = 0.25
_ANSWER_S = 10.0
_NOT_NOW = frozenset(
    {
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.UNKNOWN_TOPIC_OR_PART,  # a broker that has just lost its replica, or not heard of it yet
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError.OFFSET_NOT_AVAILABLE,
        KafkaError.KAFKA_STORAGE_ERROR,
        KafkaError.BROKER_NOT_AVAILABLE,
        KafkaError.REPLICA_NOT_AVAILABLE,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.NETWORK_EXCEPTION,
        KafkaError._TRANSPORT,
        KafkaError._TIMED_OUT,
        KafkaError._ALL_BROKERS_DOWN,
    }
)
"""What a leader that has just changed, and one that is on its way out, answers."""


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


class AcknowledgedRecords:
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


def read_names(
    bootstrap: str,
    topics: Sequence[str],
    *,
    timeout_s: float = 180.0,
    client: Mapping[str, str] = MappingProxyType({}),
) -> dict[Place, RecordName]:
    """All our records in `topics`, from offset 0 to the ends as they are now, with a client of its own. `client`:
    librdkafka's properties of TLS.

    By place, since a client whose partition changes its leader may be handed the same offset twice: that is one
    record of the log, not two.

    Raises KafkaUnavailable when the ends are not reached in time.
    """
    deadline = Deadline.after(timeout_s)
    consumer = Consumer(
        {
            **client,
            "bootstrap.servers": bootstrap,
            "group.id": "kedge-audit",
            "enable.auto.commit": False,
            "log_level": 0,
            "fetch.message.max.bytes": 8 << 20,
        }
    )
    try:
        left = log_ends(consumer, topics, deadline, where=bootstrap)
        consumer.assign([TopicPartition(t, p, OFFSET_BEGINNING) for t, p in left])
        return _read_until(consumer, left, deadline, where=bootstrap)
    except KafkaException as e:
        raise KafkaUnavailable(what="the audit's read", where=bootstrap, why=str(e)) from e
    finally:
        consumer.close()


class LogEnds(Protocol):
    """Of librdkafka's consumer what tells where logs end."""

    def list_topics(self, topic: str, timeout: float) -> Any: ...

    def get_watermark_offsets(self, partition: TopicPartition, timeout: float) -> tuple[int, int] | None: ...


def log_ends(
    reader: LogEnds,
    topics: Sequence[str],
    deadline: Deadline,
    *,
    where: str,
    wait: Callable[[float], None] = time.sleep,
) -> dict[tuple[str, int], int]:
    """End offsets of the partitions that hold anything.

    librdkafka hands a NOT_LEADER on after it has forgotten that leader: who asks once more is led to the next one. So
    each partition is asked for anew until the deadline.

    Raises KafkaUnavailable once that is over, KafkaException for what asking again does not mend.
    """

    def asked(ask: Callable[[float], Any]) -> Any:
        while True:
            try:
                return ask(max(0.1, deadline.capped(_ANSWER_S)))
            except KafkaException as e:
                error = e.args[0]
                if error.code() not in _NOT_NOW:
                    raise
                if deadline.is_over:
                    raise KafkaUnavailable(what="asking where logs end", where=where, why=str(error)) from e
            wait(_ASK_AGAIN_S)

    ends = {}
    for topic in topics:
        for partition in asked(partial(_partitions, reader, topic)):
            name = TopicPartition(topic, partition)
            low, high = asked(partial(_bounds, reader, name))
            if high > low:
                ends[topic, partition] = high
    return ends


def _partitions(reader: LogEnds, topic: str, timeout_s: float) -> list[int]:
    """Numbers of a topic's partitions. One whose metadata is an error has none to go through, which is not "empty"."""
    metadata = reader.list_topics(topic, timeout=timeout_s).topics[topic]
    if metadata.error is not None:
        raise KafkaException(metadata.error)
    return sorted(metadata.partitions)


def _bounds(reader: LogEnds, name: TopicPartition, timeout_s: float) -> tuple[int, int]:
    bounds = reader.get_watermark_offsets(name, timeout=timeout_s)
    if bounds is None:  # how it tells that the time was over
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
    return bounds


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
