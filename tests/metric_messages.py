"""Metrics messages for tests, encoded by the agent's own encoder, and as rows of Spark's Kafka source."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from agent.metrics_message import IntervalMessage, PartitionFigures

START_MS = 1_789_999_200_000
"""Start of an hour, so of a minute and of a five-minute window."""
assert START_MS % 3_600_000 == 0

RECORDS = "key binary, value binary, partition int, offset long, timestamp timestamp"


def a_message(
    minute: float = 0,
    *,
    broker: int = 1001,
    cluster: str = "c1",
    interval_ms: int = 60_000,
    partitions: Sequence[PartitionFigures] | None = None,
    figures: Mapping[str, float] | None = None,
    started_ms: int = 1,
) -> IntervalMessage:
    """The message of one interval; `minute` counts from START_MS."""
    if partitions is None:
        partitions = [
            a_partition(p, log_bytes=1000 * p + int(minute), in_bytes=60 * (p + int(minute))) for p in range(3)
        ]
    return IntervalMessage(
        cluster_uid=cluster,
        broker_id=broker,
        node=f"broker-{broker}",
        interval_start_ms=START_MS + int(minute * 60_000),
        interval_ms=interval_ms,
        elapsed_ms=interval_ms,
        broker_started_ms=started_ms,
        figures=figures if figures is not None else {"cpu": 0.25, "request_handler_idle": 0.75},
        partitions=partitions,
    )


def a_partition(
    number: int,
    *,
    topic: str = "orders",
    log_bytes: int | None = 0,
    in_bytes: int | None = 0,
    out_bytes: int | None = 0,
) -> PartitionFigures:
    return PartitionFigures(topic=topic, partition=number, log_bytes=log_bytes, in_bytes=in_bytes, out_bytes=out_bytes)


def as_records(messages: Sequence[IntervalMessage], *, first_offset: int = 0) -> list[dict[str, Any]]:
    """Rows of schema RECORDS; Kafka stamped each a second after its interval."""
    return [
        {
            "key": message.key,
            "value": message.encode(),
            "partition": 0,
            "offset": first_offset + position,
            "timestamp": datetime.fromtimestamp((message.interval_start_ms + message.interval_ms) / 1000 + 1, UTC),
        }
        for position, message in enumerate(messages)
    ]
