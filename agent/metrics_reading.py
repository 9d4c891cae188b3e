"""One look at a broker's counters: a single Jolokia bulk read, whatever number of replicas it holds.

Kafka counts client bytes per topic, not per partition (`BrokerTopicMetrics`, by topic, on leaders only), so the share
of a partition is taken by how its log end offset moved: exact for a topic with one led partition, and always exact in
the topic's sum. `ReplicasCount` of kafka.cluster.Partition is 0 on followers: it tells who leads.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agent.metrics import Jolokia, JolokiaSilent, value_of
from agent.process_io import disk_bytes

TopicPartition = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Counters since the broker's start, as of `at_s` (monotonic). What Kafka did not say is absent or None."""

    at_s: float
    started_ms: int
    log_bytes: Mapping[TopicPartition, int]
    end_offset: Mapping[TopicPartition, int]
    leads: frozenset[TopicPartition]
    topic_in_bytes: Mapping[str, int]
    topic_out_bytes: Mapping[str, int]
    counters: Mapping[str, float]
    gauges: Mapping[str, float]


COUNT = "_count"
"""Behind the name of a latency: how many requests it was taken of, ever."""

_METADATA_LOG = "__cluster_metadata"
"""Every node has it and no plan moves it."""

_TOPICS = "kafka.server:type=BrokerTopicMetrics,name="
_LOG = "kafka.log:type=Log,name="
_PATTERNS = {
    "log_bytes": (_LOG + "Size,topic=*,partition=*", "Value"),
    "end_offset": (_LOG + "LogEndOffset,topic=*,partition=*", "Value"),
    "replicas": ("kafka.cluster:type=Partition,name=ReplicasCount,topic=*,partition=*", "Value"),
    "topic_in": (_TOPICS + "BytesInPerSec,topic=*", "Count"),
    "topic_out": (_TOPICS + "BytesOutPerSec,topic=*", "Count"),
}
_REQUESTS = "kafka.network:type=RequestMetrics,name="
_LATENCIES = {
    "produce_local_p99_ms": _REQUESTS + "LocalTimeMs,request=Produce",
    "fetch_local_p99_ms": _REQUESTS + "LocalTimeMs,request=FetchConsumer",
    "follower_local_p99_ms": _REQUESTS + "LocalTimeMs,request=FetchFollower",
    "request_queue_p99_ms": _REQUESTS + "RequestQueueTimeMs,request=Produce",
    "produce_total_p99_ms": _REQUESTS + "TotalTimeMs,request=Produce",
}
_COUNTERS = {
    "bytes_in": (_TOPICS + "BytesInPerSec", "Count"),
    "bytes_out": (_TOPICS + "BytesOutPerSec", "Count"),
    "replication_bytes_in": (_TOPICS + "ReplicationBytesInPerSec", "Count"),
    "replication_bytes_out": (_TOPICS + "ReplicationBytesOutPerSec", "Count"),
    "idle_ns": ("kafka.server:type=KafkaRequestHandlerPool,name=RequestHandlerAvgIdlePercent", "Count"),
    "cpu_ns": ("java.lang:type=OperatingSystem", "ProcessCpuTime"),
    **{name + COUNT: (bean, "Count") for name, bean in _LATENCIES.items()},
}
_GAUGES = {
    "processors": ("java.lang:type=OperatingSystem", "AvailableProcessors"),
    "log_flush_p99_ms": ("kafka.log:type=LogFlushStats,name=LogFlushRateAndTimeMs", "99thPercentile"),
    **{name: (bean, "99thPercentile") for name, bean in _LATENCIES.items()},
    "started_ms": ("java.lang:type=Runtime", "StartTime"),
    "pid": ("java.lang:type=Runtime", "Pid"),
}
_COLLECTORS = ("java.lang:type=GarbageCollector,name=*", "CollectionTime")
"""Milliseconds each collector of the JVM has taken, young and old ones; together they are all that stopped it."""


def read_counters(jolokia: Jolokia, *, at_s: float, disk: Callable[[int], Mapping[str, float]] = disk_bytes) -> Reading:
    """Everything at once; `disk` tells counters of a process by its pid, which is on this machine.

    Raises `JolokiaSilent` when there is no usable answer, or none about the process itself.
    """
    asked = {**_PATTERNS, **_COUNTERS, **_GAUGES, "collectors": _COLLECTORS}
    items = jolokia.ask([{"type": "read", "mbean": bean, "attribute": attribute} for bean, attribute in asked.values()])
    values = {name: value_of(item) for name, item in zip(asked, items, strict=True)}
    gauges = _numbers(values, _GAUGES)
    if "started_ms" not in gauges:
        raise JolokiaSilent("the answer lacks the start time of the process, so its counters have no beginning")
    replicas = _by_partition(values["replicas"])
    pid = int(gauges.pop("pid", 0))
    counters = {**_numbers(values, _COUNTERS), **(disk(pid) if pid > 0 else {})}
    if collectors := _single_values(values["collectors"]):
        counters["gc_ms"] = float(sum(taken_ms for _, taken_ms in collectors))
    return Reading(
        at_s=at_s,
        started_ms=int(gauges.pop("started_ms")),
        log_bytes=_by_partition(values["log_bytes"]),
        end_offset=_by_partition(values["end_offset"]),
        leads=frozenset(partition for partition, count in replicas.items() if count > 0),
        topic_in_bytes=_by_topic(values["topic_in"]),
        topic_out_bytes=_by_topic(values["topic_out"]),
        counters=counters,
        gauges=gauges,
    )


def properties_of(bean: str) -> dict[str, str]:
    """Key properties of a canonical MBean name; Jolokia sorts them, and quotes are part of a value that has them."""
    _, _, text = bean.partition(":")
    return dict(pair.split("=", 1) for pair in text.split(","))


def _numbers(values: Mapping[str, Any], names: Mapping[str, object]) -> dict[str, float]:
    return {name: float(values[name]) for name in names if _is_number(values[name])}


def _by_partition(value: Any) -> dict[TopicPartition, int]:
    found = {}
    for bean, number in _single_values(value):
        properties = properties_of(bean)
        if properties["topic"] != _METADATA_LOG:
            found[properties["topic"], int(properties["partition"])] = number
    return found


def _by_topic(value: Any) -> dict[str, int]:
    return {properties_of(bean)["topic"]: number for bean, number in _single_values(value)}


def _single_values(value: Any) -> list[tuple[str, int]]:
    """A pattern's answer is {bean: {attribute: number}}; no match is no answer, a negative number is none either."""
    beans = value.items() if isinstance(value, dict) else ()
    pairs = [(bean, number) for bean, attributes in beans for number in attributes.values()]
    return [(bean, int(number)) for bean, number in pairs if _is_number(number) and number >= 0]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value
