"""A small digest of Kafka's metrics, read in one bulk request from the Jolokia 2 agent inside the process."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from agent.wire import ServiceName


class JolokiaSilent(Exception):
    """No usable answer: says nothing about Kafka itself."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One attribute. `path` goes into a composite value (HeapMemoryUsage/used). `*_total` are counts since start."""

    name: str
    bean: str
    attribute: str = "Value"
    path: str | None = None

    @property
    def request(self) -> dict[str, str]:
        request = {"type": "read", "mbean": self.bean, "attribute": self.attribute}
        return request | ({"path": self.path} if self.path else {})


BROKER_STATE = Metric("broker_state", "kafka.server:type=KafkaServer,name=BrokerState")
BROKER_STATE_RUNNING = 3
"""org.apache.kafka.metadata.BrokerState: 1 starting, 2 recovery, 3 running, 6 controlled shutdown, 7 shutting down."""

_JVM = (
    Metric("heap_used_bytes", "java.lang:type=Memory", "HeapMemoryUsage", "used"),
    Metric("cpu_time_ns_total", "java.lang:type=OperatingSystem", "ProcessCpuTime"),
)
_REPLICAS = "kafka.server:type=ReplicaManager,name="
_TOPICS = "kafka.server:type=BrokerTopicMetrics,name="
_RAFT = "kafka.server:type=raft-metrics"
_CONTROLLER = "kafka.controller:type=KafkaController,name="

DIGEST: Mapping[ServiceName, tuple[Metric, ...]] = {
    "broker": (
        BROKER_STATE,
        Metric("under_replicated_partitions", _REPLICAS + "UnderReplicatedPartitions"),
        Metric("under_min_isr_partitions", _REPLICAS + "UnderMinIsrPartitionCount"),
        Metric("offline_replicas", _REPLICAS + "OfflineReplicaCount"),
        Metric("partitions", _REPLICAS + "PartitionCount"),
        Metric("leaders", _REPLICAS + "LeaderCount"),
        Metric("bytes_in_total", _TOPICS + "BytesInPerSec", "Count"),
        Metric("bytes_out_total", _TOPICS + "BytesOutPerSec", "Count"),
        Metric("messages_in_total", _TOPICS + "MessagesInPerSec", "Count"),
        Metric("replication_bytes_in_total", _TOPICS + "ReplicationBytesInPerSec", "Count"),
        Metric("replication_bytes_out_total", _TOPICS + "ReplicationBytesOutPerSec", "Count"),
        Metric(
            "request_handler_idle",
            "kafka.server:type=KafkaRequestHandlerPool,name=RequestHandlerAvgIdlePercent",
            "OneMinuteRate",
        ),
        Metric("network_processor_idle", "kafka.network:type=SocketServer,name=NetworkProcessorAvgIdlePercent"),
        *_JVM,
    ),
    "controller": (
        Metric("active_controllers", _CONTROLLER + "ActiveControllerCount"),
        Metric("active_brokers", _CONTROLLER + "ActiveBrokerCount"),
        Metric("fenced_brokers", _CONTROLLER + "FencedBrokerCount"),
        Metric("offline_partitions", _CONTROLLER + "OfflinePartitionsCount"),
        Metric("metadata_errors", _CONTROLLER + "MetadataErrorCount"),
        Metric("last_applied_offset", _CONTROLLER + "LastAppliedRecordOffset"),
        Metric("last_applied_lag_ms", _CONTROLLER + "LastAppliedRecordLagMs"),
        # Kafka 3.9 alone: ZkMigrationState (0 none, 2 before, 1 both are written, 3 over), and ZooKeeper brokers left.
        Metric("zk_migration_state", _CONTROLLER + "ZkMigrationState"),
        Metric("zk_brokers", _CONTROLLER + "MigratingZkBrokerCount"),
        Metric("quorum_voters", _RAFT, "number-of-voters"),
        Metric("quorum_leader", _RAFT, "current-leader"),
        Metric("quorum_high_watermark", _RAFT, "high-watermark"),
        Metric("quorum_log_end", _RAFT, "log-end-offset"),
        *_JVM,
    ),
}


class Jolokia:
    """The metrics port of one service, e.g. `http://10.0.0.7:8778`."""

    def __init__(self, base_url: str, *, timeout_s: float = 2.0, transport: httpx.BaseTransport | None = None) -> None:
        self._http = httpx.Client(base_url=base_url, timeout=timeout_s, trust_env=False, transport=transport)

    def read(self, metrics: tuple[Metric, ...]) -> dict[str, float]:
        """Values by short name, in one request. What Kafka does not have (yet), or is no number, is left out.

        Raises `JolokiaSilent` when there is no usable answer.
        """
        items = self.ask([metric.request for metric in metrics])
        return {
            m.name: value
            for m, item in zip(metrics, items, strict=True)
            if (value := number(value_of(item))) is not None
        }

    def ask(self, requests: Sequence[Mapping[str, object]]) -> list[Any]:
        """One answer per request, in one round trip; each has a `status` of its own (JSON of the Jolokia protocol).

        Raises `JolokiaSilent` when there is no usable answer.
        """
        try:
            response = self._http.post("/jolokia/", json=list(requests))
            response.raise_for_status()
            items = response.json()
        except (httpx.HTTPError, ValueError) as error:
            raise JolokiaSilent(f"{self._http.base_url}: {error!r}") from error
        if not isinstance(items, list) or len(items) != len(requests):
            raise JolokiaSilent(f"{self._http.base_url}: {len(requests)} metrics asked, the answer is {items!r:.200}")
        return items

    def close(self) -> None:
        self._http.close()


def value_of(item: Any) -> Any:
    """What one answer of a bulk says, None for none: HTTP is 200 for the whole, each item has its own `status`."""
    return item.get("value") if isinstance(item, dict) and item.get("status") == 200 else None


def number(value: object) -> float | None:
    """A value that is a number as one; None for anything else, a truth value too."""
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def whole(value: object) -> int | None:
    """A value that is a number as a whole one, cut off; None for anything else."""
    figure = number(value)
    return None if figure is None else int(figure)
