"""What TLS between brokers costs copies: a cluster in plaintext and one born with TLS, one after the other, of three
real brokers each: replication that nobody holds back, and a drain by Kedge while clients write."""

import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.loaded import FOUNDED_WITHIN_S, audited
from planner.observed import TopicPartition
from tests.e2e.cluster_spec import CONTROLLERS, ClusterSpec
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic
from tests.kafka_topics import create_topic

MIB = 2**20
COPIED_MIB, DRAINED_MIB = 384, 1024
COPIED, LEDGER, PARTITIONS = "copied", "ledger", 12
ROUNDS = 3
"""The best of them counts: others on the machine make each slower, and none faster."""
WITHIN_S = 240.0
TLS_PORT = 9094
SPEC = ClusterSpec(
    name="copied",
    machines={"one": "medium", "two": "small", "three": "small", CONTROLLERS: "small"},
    disk_gib=8,
    heap_mib=320,
    throttle_mib_per_s=1000,
    join_deadline_s=300,
    linger_s=1,
    soak_s=1,
)


def copies(scale: float) -> dict[str, Any]:
    """Both clusters, and TLS over plaintext of each rate. `reached_ratio`: the drain's rate over the one that its
    certificate promised."""
    plain, secured = _measured(SPEC, scale), _measured(replace(SPEC, tls=True), scale)
    return {
        "replication_ratio": _ratio(secured, plain, "replication_bytes_per_s"),
        "drain_ratio": _ratio(secured, plain, "drain_bytes_per_s"),
        "tls": secured,
        "plaintext": plain,
        "floor": {"reached_ratio": [0.95, 1.05]},
    }


def _ratio(one: Mapping[str, Any], other: Mapping[str, Any], figure: str) -> float:
    return round(float(one[figure]) / float(other[figure]), 3)


def _measured(spec: ClusterSpec, scale: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="kedge-copies-") as work:
        cluster = LivingCluster(Path(work) / "home", spec=spec)
        try:
            cluster.open(within_s=FOUNDED_WITHIN_S)
            size = int(COPIED_MIB * scale * MIB)
            _fill_one_replica(cluster, size)
            fastest = max(_replicated(cluster, size) for _ in range(ROUNDS))
            each = int(DRAINED_MIB * scale * MIB) // PARTITIONS
            create_topic(cluster.bootstrap(), LEDGER, partitions=PARTITIONS, rf=3, min_isr=2, bytes_per_partition=each)
            return {"replication_bytes_per_s": round(fastest), **_drained(cluster)}
        finally:
            cluster.close()


def _brokers(cluster: LivingCluster) -> list[int]:
    """Of those that stay."""
    return [cluster.instance(node).service_id for node in ("two-b-0", "three-c-0")]


def _fill_one_replica(cluster: LivingCluster, size: int) -> None:
    """A topic that one broker has, written by whoever is let in at the first listener."""
    source, _ = _brokers(cluster)
    client: dict[str, Any] = {"bootstrap.servers": ",".join(cluster.bootstrap()), "log_level": 0}
    topic = NewTopic(
        COPIED, PARTITIONS, replica_assignment=[[source]] * PARTITIONS, config={"min.insync.replicas": "1"}
    )
    admin = AdminClient(client)
    admin.create_topics([topic])[COPIED].result(30)
    producer, record = Producer({**client, "linger.ms": 20}), b"x" * 50_000
    for number in range(size // len(record)):
        while True:
            try:
                producer.produce(COPIED, record, partition=number % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.1)
    if producer.flush(60):
        raise RuntimeError("the topic to copy was not written")


def _replicated(cluster: LivingCluster, size: int) -> float:
    """Bytes/s of a second replica on another broker, without a throttle; it goes again."""
    source, target = _brokers(cluster)
    names = [TopicPartition(COPIED, number) for number in range(PARTITIONS)]
    kafka = cluster.kafka()

    def in_sync(count: int) -> bool | None:
        found = {p.name: p for p in kafka.partitions() if p.name.topic == COPIED}
        return all(len(found[n].isr) == count == len(found[n].replicas) for n in names) or None

    began = time.monotonic()
    refused = kafka.reassign(dict.fromkeys(names, (source, target)))
    if refused:
        raise RuntimeError(f"the copies were refused: {refused}")
    cluster.until(lambda: in_sync(2), "the second replica", timeout_s=WITHIN_S, every_s=0.05)
    seconds = time.monotonic() - began
    kafka.reassign(dict.fromkeys(names, (source,)))
    cluster.until(lambda: in_sync(1), "the second replica to be gone", timeout_s=WITHIN_S)
    return size / seconds


def _drained(cluster: LivingCluster) -> dict[str, Any]:
    """One broker gets another VM. Its successor's log directories say when the last byte was there."""
    tls = cluster.spec.tls
    client = {"security.protocol": "ssl", "ssl.ca.pem": cluster.client.endpoints(cluster.spec.name).ca} if tls else {}
    with traffic(cluster.bootstrap, client=client, client_port=TLS_PORT if tls else 0) as workload:
        before = cluster.head()
        cluster.declare(cluster.spec.rolled("one"))
        plan = cluster.event("drain.planned", before, within_s=WITHIN_S).data
        began = cluster.event("drain.batch_started", before, within_s=WITHIN_S).at
        (successor,) = [i.service_id for i in cluster.detail().instances if i.node == "one-a-0" and i.phase == "joined"]
        whole = _arrived(cluster, successor, int(plan["bytes"]))
        cluster.event("replacement.completed", before, within_s=WITHIN_S)
    certificate = plan["certificate"]
    promised = plan["bytes"] / certificate["makespan_s"]["value"]
    rate = plan["bytes"] / (whole - began).total_seconds()
    return {
        "drain_bytes_per_s": round(rate),
        "promised_bytes_per_s": round(promised),
        "reached_ratio": round(rate / promised, 3),
        "binds": certificate.get("binds", ""),
        **audited(workload),
        "duplicated": 0,
    }


def _arrived(cluster: LivingCluster, broker: int, size: int) -> datetime:
    def is_there() -> bool | None:
        held = cluster.snapshot().log_dirs.get(broker)
        return (held is not None and held.used_bytes >= size) or None

    cluster.until(is_there, "the last byte", timeout_s=WITHIN_S, every_s=0.05)
    return datetime.now(UTC)
