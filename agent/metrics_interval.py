"""What happened between two readings of one broker: the message of an interval. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from agent.metrics_message import LATENCIES, IntervalMessage, PartitionFigures
from agent.metrics_reading import COUNT, Reading, TopicPartition

_MOST_JITTER = 0.5
FEWEST_REQUESTS = 10
"""Fewer of a kind in an interval say nothing of how long such requests take."""


@dataclass(frozen=True, slots=True)
class MetricsSubject:
    """Whom a message is about."""

    cluster_uid: str
    broker_id: int
    node: str


def message_of(
    subject: MetricsSubject, before: Reading | None, now: Reading, *, interval_start_ms: int, interval_ms: int
) -> IntervalMessage:
    """Sizes are those of `now`; everything counted is the difference of the two, unknown where there is none.

    No difference: the first reading, a broker restarted in between (its counters began anew), or readings so far apart
    that they say nothing about this one interval (more than half an interval off).
    """
    elapsed_s = now.at_s - before.at_s if before is not None else 0.0
    comparable = (
        before is not None
        and before.started_ms == now.started_ms
        and abs(elapsed_s - interval_ms / 1000) <= interval_ms / 1000 * _MOST_JITTER
    )
    previous = before if comparable else None
    return IntervalMessage(
        cluster_uid=subject.cluster_uid,
        broker_id=subject.broker_id,
        node=subject.node,
        interval_start_ms=interval_start_ms,
        interval_ms=interval_ms,
        elapsed_ms=round(elapsed_s * 1000) if previous else 0,
        broker_started_ms=now.started_ms,
        figures=_broker_figures(previous, now),
        partitions=_partitions(previous, now),
    )


def shares(total: int, weights: Sequence[int]) -> list[int]:
    """`total` split in proportion to `weights`, in whole numbers that add up to `total`; evenly when all weigh 0."""
    parts = weights if any(weights) else [1] * len(weights)
    whole, given, split = sum(parts), 0, []
    seen = 0
    for part in parts:
        seen += part
        upto = total * seen // whole
        split.append(upto - given)
        given = upto
    return split


def _partitions(before: Reading | None, now: Reading) -> list[PartitionFigures]:
    led = _led_throughout(before, now) if before is not None else {}
    in_bytes = _by_partition(led, before.topic_in_bytes, now.topic_in_bytes) if before is not None else {}
    out_bytes = _by_partition(led, before.topic_out_bytes, now.topic_out_bytes) if before is not None else {}
    return [
        PartitionFigures(
            topic=topic,
            partition=partition,
            log_bytes=size,
            in_bytes=in_bytes.get((topic, partition)),
            out_bytes=out_bytes.get((topic, partition)),
        )
        for (topic, partition), size in sorted(now.log_bytes.items())
    ]


def _led_throughout(before: Reading, now: Reading) -> dict[str, tuple[list[TopicPartition], list[int]]]:
    """By topic the partitions led in both readings, and how far the log of each grew.

    A topic that gained or lost a leader in the interval is unknown: bytes of a partition that left are in its sum.
    """
    led_before = _by_topic(before.leads)
    return {
        topic: (led, [_growth(before, now, partition) for partition in led])
        for topic, led in _by_topic(now.leads).items()
        if led == led_before.get(topic)
    }


def _by_partition(
    led: Mapping[str, tuple[list[TopicPartition], list[int]]], before: Mapping[str, int], now: Mapping[str, int]
) -> dict[TopicPartition, int]:
    """A topic's bytes over its partitions, by how far their logs grew. A topic without a counter had no traffic on this
    broker since its start."""
    found: dict[TopicPartition, int] = {}
    for topic, (partitions, growth) in led.items():
        total = now.get(topic, 0) - before.get(topic, 0)
        if total >= 0:
            found.update(zip(partitions, shares(total, growth), strict=True))
    return found


def _by_topic(partitions: Iterable[TopicPartition]) -> Mapping[str, list[TopicPartition]]:
    topics: dict[str, list[TopicPartition]] = {}
    for partition in sorted(partitions):
        topics.setdefault(partition[0], []).append(partition)
    return topics


def _growth(before: Reading, now: Reading, partition: TopicPartition) -> int:
    return max(0, now.end_offset.get(partition, 0) - before.end_offset.get(partition, 0))


def _broker_figures(before: Reading | None, now: Reading) -> dict[str, float]:
    figures = {"log_flush_p99_ms": now.gauges["log_flush_p99_ms"]} if "log_flush_p99_ms" in now.gauges else {}
    if before is None:
        return figures
    figures |= {name: now.gauges[name] for name in _TIMED if name in now.gauges and _asked(before, now, name)}
    elapsed_s = now.at_s - before.at_s
    per_s = {
        name: (now.counters[name] - before.counters[name]) / elapsed_s
        for name in now.counters
        if name in before.counters and now.counters[name] >= before.counters[name]
    }
    if "cpu_ns" in per_s and now.gauges.get("processors", 0) > 0:
        figures["cpu"] = per_s["cpu_ns"] / 1e9 / now.gauges["processors"]
    if "idle_ns" in per_s:
        figures["request_handler_idle"] = min(1.0, per_s["idle_ns"] / 1e9)
    if "gc_ms" in per_s:
        figures["gc_share"] = min(1.0, per_s["gc_ms"] / 1000)
    figures |= {figure: per_s[counter] for figure, counter in _DISK.items() if counter in per_s}
    for figure, clients, replication in _NIC:
        if clients in per_s and replication in per_s:
            figures[figure] = per_s[clients] + per_s[replication]
    return figures


def _asked(before: Reading, now: Reading, latency: str) -> bool:
    """Whether such requests came in the interval. Kafka's reservoir keeps what it had when none come any more, which
    would make a broker that leads nothing slow for ever."""
    count = latency + COUNT
    return now.counters.get(count, 0.0) - before.counters.get(count, 0.0) >= FEWEST_REQUESTS


_TIMED = (*LATENCIES, "produce_total_p99_ms")
_DISK = {"disk_read_bytes_per_s": "disk_read", "disk_write_bytes_per_s": "disk_written"}
_NIC = (
    ("nic_in_bytes_per_s", "bytes_in", "replication_bytes_in"),
    ("nic_out_bytes_per_s", "bytes_out", "replication_bytes_out"),
)
"""Kafka's own traffic, clients and replication: what a plan weighs against the NIC."""
