"""The placement of a topic's partitions as bytes: who leads each, who holds it, who is in sync. Pure.

Sizes and offsets are left out: they change at every look, and these bytes are written where something changed. Sizes of
all partitions together are bytes of their own, written now and then.
"""

import base64
import hashlib
import json
import zlib
from collections.abc import Mapping, Sequence
from operator import attrgetter

from planner.observed import KafkaSnapshot, PartitionSeen, TopicPartition

_MOST_BYTES = 64 * 1024 * 1024
"""Of one topic, unpacked: more is no list of partitions."""
_FORM = 1

_SHAPE = attrgetter("leader", "replicas", "isr", "adding", "removing", "min_isr", "configured_min_isr")


def shape_of(partitions: Sequence[PartitionSeen]) -> int:
    """Stands for the placement in this process alone: two looks at 50 partitions are told apart in some 20 µs."""
    return hash((len(partitions), *map(_SHAPE, partitions)))


def text_of(partitions: Sequence[PartitionSeen]) -> bytes:
    """What is packed, and what its hash is of; partitions come in order of their number."""
    rows = [(p.name.partition, *_SHAPE(p)) for p in sorted(partitions, key=lambda p: p.name.partition)]
    return json.dumps({"form": _FORM, "partitions": rows}, separators=(",", ":")).encode()


def hash_of(text: bytes) -> str:
    """Stands for the placement on every server and for ever."""
    return hashlib.sha256(text).hexdigest()


def packed(text: bytes) -> bytes:
    return zlib.compress(text, 1)


def unpacked(topic: str, data: bytes) -> tuple[PartitionSeen, ...] | None:
    """The partitions, sizes unknown; None where the bytes are broken, or another release wrote them."""
    try:
        document = json.loads(_whole(data))
        if document["form"] != _FORM:
            return None
        return tuple(_partition(topic, *row) for row in document["partitions"])
    except (zlib.error, ValueError, KeyError, TypeError):
        return None  # the next look writes it anew


def packed_sizes(snapshot: KafkaSnapshot) -> str:
    """Bytes of one copy of each partition as far as they are known, as text: base64 of compressed JSON."""
    document = {
        topic: {str(p.name.partition): known for p in parts if (known := snapshot.bytes_of(p)) is not None}
        for topic, parts in snapshot.by_topic.items()
    }
    return base64.b64encode(packed(json.dumps(document, separators=(",", ":")).encode())).decode()


def unpacked_sizes(text: str) -> Mapping[TopicPartition, int]:
    """The sizes of those that are known; none where the text is broken."""
    try:
        document = json.loads(_whole(base64.b64decode(text, validate=True)))
        return {TopicPartition(t, int(n)): int(size) for t, sizes in document.items() for n, size in sizes.items()}
    except (zlib.error, ValueError, AttributeError, TypeError):
        return {}


def _whole(data: bytes) -> bytes:
    """Raises ValueError for what is cut off, or far too large."""
    unpacking = zlib.decompressobj()
    text = unpacking.decompress(data, _MOST_BYTES)
    if not unpacking.eof:
        raise ValueError("cut off, or too large")
    return text


def _partition(
    topic: str,
    number: int,
    leader: int,
    replicas: list[int],
    isr: list[int],
    adding: list[int],
    removing: list[int],
    min_isr: int,
    configured_min_isr: int,
) -> PartitionSeen:
    return PartitionSeen(
        name=TopicPartition(topic, number),
        leader=leader,
        replicas=tuple(replicas),
        isr=tuple(isr),
        min_isr=min_isr,
        adding=tuple(adding),
        removing=tuple(removing),
        configured_min_isr=configured_min_isr,
    )
