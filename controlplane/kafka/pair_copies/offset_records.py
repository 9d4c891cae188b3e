"""Records of MirrorMaker's topic that says how far it has come: where it goes on. Pure text.

Read and written as Connect's `OffsetStorageReader` does with `JsonConverter` without schemas: keys are compared as
bytes, so they have no space (run with 4.1.1 and 4.2.0).
"""

import json
from collections.abc import Mapping

from planner.observed import TopicPartition

_CONNECTOR = "MirrorSourceConnector"


def offsets_partition(source: str) -> TopicPartition:
    """At the target; it has this one alone (`offset.storage.partitions`)."""
    return TopicPartition(f"mm2-offsets.{source}.internal", 0)


def seed_records(source: str, seeds: Mapping[TopicPartition, int]) -> list[tuple[bytes, bytes | None]]:
    """By which a flow goes on behind `seeds`. At 0 what an earlier flow came to is taken back: it would skip it."""
    return [
        (
            _json([_CONNECTOR, {"cluster": source, "partition": p.partition, "topic": p.topic}]),
            _json({"offset": end - 1}) if end > 0 else None,
        )
        for p, end in sorted(seeds.items())
    ]


def partition_of(source: str, key: bytes | None) -> TopicPartition | None:
    """Whose offset a record is; None for those of other connectors and clusters."""
    match _read(key):
        case [str(connector), {"cluster": str(cluster), "partition": int(number), "topic": str(topic)}]:
            ours = connector == _CONNECTOR and cluster == source
            return TopicPartition(topic, number) if ours else None
    return None


def offset_of(value: bytes | None) -> int | None:
    """The last offset that was copied; None where it was taken back, or is no number."""
    match _read(value):
        case {"offset": int(offset)}:
            return offset
    return None


def _read(content: bytes | None) -> object:
    try:
        return json.loads(content) if content else None
    except ValueError:
        return None


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
