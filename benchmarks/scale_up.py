"""Three brokers become six while clients write: row `scale-up` of `python -m benchmarks lifecycle`, real brokers.

60 partitions of three replicas take 8 MiB/s (times `--scale`), moves are held to 4 MiB/s: less than a broker takes of
its clients' records. When the rebalance has ended each broker has its even share of replicas and leaders
(`*_max_over_even` is near 1), and `missed` are the goals its last plan did not meet.
"""

import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from confluent_kafka import Producer

from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.living_cluster import LivingCluster
from tests.kafka_topics import create_topic

MIB = 2**20
PARTITIONS, REPLICAS, RECORD_BYTES = 60, 3, 16_384
WRITTEN_MIB_PER_S, THROTTLE_MIB_PER_S = 8.0, 4
TOPIC = "written"
BEFORE_S, WITHIN_S = 60.0, 1800.0
"""Written before the brokers come; how long they, and the rebalance, may take on a busy machine."""
KEPT: Mapping[str, str] = {"retention.bytes": str(8 * MIB), "segment.bytes": str(4 * MIB)}
SPEC = ClusterSpec(
    name="scale-up",
    throttle_mib_per_s=THROTTLE_MIB_PER_S,
    disk_gib=8,
    heap_mib=320,
    join_deadline_s=600,
    config={"log.retention.check.interval.ms": 5_000},
)
WIDER = replace(SPEC, sizes=dict.fromkeys(SPEC.sizes, 2))


def scale_up(cluster: LivingCluster, scale: float) -> dict[str, Any]:
    """Figures of brokers as Kafka has them when the rebalance has ended."""
    create_topic(cluster.bootstrap(), TOPIC, partitions=PARTITIONS, rf=REPLICAS, min_isr=2, settings=KEPT)
    with _written(cluster.bootstrap(), WRITTEN_MIB_PER_S * scale) as written:
        time.sleep(BEFORE_S)
        before, began, had = cluster.head(), time.monotonic(), written[0]
        cluster.declare(WIDER)
        done_event = cluster.event("rebalance.completed", before, within_s=WITHIN_S)
        cluster.converged(within_s=WITHIN_S)
        took_s = time.monotonic() - began
        rate = (written[0] - had) / took_s / MIB
    goals = [e for e in cluster.events(before) if e.type == "rebalance.planned"][-1].data["goals"]
    return {
        **_shares(cluster),
        "missed": sorted(name for name, figures in goals.items() if figures[1]),
        "goals": goals,
        "imbalance_percent": done_event.data["imbalance"],
        "moves": done_event.data["moves"],
        "written_mib_per_s": round(rate, 1),
        "took_s": round(took_s, 1),
    }


def _shares(cluster: LivingCluster) -> dict[str, Any]:
    partitions = [p for p in cluster.snapshot().partitions if p.name.topic == TOPIC]
    replicas = Counter(broker for p in partitions for broker in p.replicas)
    leaders = Counter(p.leader for p in partitions)
    brokers = len(replicas)
    return {
        "brokers": brokers,
        "replicas": sorted(replicas.values()),
        "leaders": sorted(leaders.values()),
        "replicas_max_over_even": round(max(replicas.values()) * brokers / (PARTITIONS * REPLICAS), 3),
        "leaders_max_over_even": round(max(leaders.values()) * brokers / PARTITIONS, 3),
    }


@contextmanager
def _written(bootstrap: Sequence[str], mib_per_s: float) -> Iterator[list[int]]:
    """Records to all partitions alike while the block runs, at that rate or as fast as brokers take them. Yields what
    was acknowledged so far, in bytes."""
    acknowledged, over = [0], threading.Event()
    producer = Producer({"bootstrap.servers": ",".join(bootstrap), "acks": "all", "linger.ms": 20, "log_level": 0})

    def told(error: object, _: object) -> None:
        acknowledged[0] += 0 if error else RECORD_BYTES

    def write() -> None:
        value, number, began = b"x" * RECORD_BYTES, 0, time.monotonic()
        while not over.is_set():
            producer.poll(0)
            if number * RECORD_BYTES >= (time.monotonic() - began) * mib_per_s * MIB:
                producer.poll(0.01)
                continue
            try:
                producer.produce(TOPIC, value, partition=number % PARTITIONS, on_delivery=told)
                number += 1
            except BufferError:
                producer.poll(0.1)

    thread = threading.Thread(target=write, name="written")
    thread.start()
    try:
        yield acknowledged
    finally:
        over.set()
        thread.join()
        producer.flush(30)
