"""What clients wait while a broker is emptied onto a device that cannot take copies and clients at once: with the
latency brake, and without. Real brokers on a file system of a slow device, which they share; the planner knows nothing
of it, as on a cloud that publishes no figure, so that the brake alone is between moves and clients.

`p99_ratio` is the p99 of acknowledgements while moves run over that of the half minute before; `p99_ratio_last_half`
leaves out the first half of them, in which the brake finds its share. `unbraked` has the same without it.
"""

import os
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.latency import Latencies, produced
from benchmarks.loaded import FOUNDED_WITHIN_S
from controlplane.api.schemas import moves as move_api, nodes as node_api
from providers.local.slow_disk import slow_down
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.living_cluster import LivingCluster
from tests.kafka_topics import create_topic
from tests.slow_volume import slow_volume

MIB, GIB = 2**20, 2**30
PARTITIONS = 12
HEAVY_MIB = 130
"""Of each partition, at scale 1; half of one of its three replicas each is on the broker that is emptied."""
CLIENTS_BYTES, DEVICE_BYTES = 768 * 1024, 7 * MIB
"""A second: clients' records, which are written three times, and what the device writes. Moves are planned with
6 MiB/s."""
BEFORE_S, WITHIN_S = 60.0, 1500.0
SPEC = ClusterSpec(
    name="braked",
    sizes={"one": 1, "two": 1, "three": 2},
    disk_gib=8,
    heap_mib=320,
    throttle_mib_per_s=8,
    join_deadline_s=600,
    brake={"enabled": True},
)


def braked(scale: float) -> dict[str, Any]:
    """Of a rack of two, one broker is emptied onto the other with the brake, and the other onto it without."""
    with tempfile.TemporaryDirectory(prefix="kedge-braked-") as work:
        home = Path(work) / "home"
        home.mkdir()
        with slow_volume(home / "local", size_bytes=24 * GIB, bytes_per_s=0) as devices:
            cluster = LivingCluster(home, spec=SPEC)
            try:
                cluster.open(within_s=FOUNDED_WITHIN_S)
                size = int(HEAVY_MIB * scale * MIB)
                bootstrap = cluster.bootstrap()
                create_topic(bootstrap, "heavy", partitions=PARTITIONS, rf=3, min_isr=2, bytes_per_partition=size)
                os.sync()
                slow_down(devices, DEVICE_BYTES)
                with_brake = _emptied(cluster, "three-c-1")
                cluster.declare(replace(cluster.spec, brake={"enabled": False}))
                return {**with_brake, "unbraked": _emptied(cluster, "three-c-0")}
            finally:
                slow_down(devices, 0)
                cluster.close()


def _emptied(cluster: LivingCluster, node: str) -> dict[str, Any]:
    broker, topic = cluster.instance(node).service_id, f"clients-{node}"
    create_topic(cluster.bootstrap(), topic, partitions=PARTITIONS, rf=3, min_isr=2)
    with produced(cluster.bootstrap(), topic, partitions=PARTITIONS, bytes_per_s=CLIENTS_BYTES) as latencies:
        time.sleep(BEFORE_S)
        before, began = cluster.head(), time.monotonic()
        cluster.client.evacuate(cluster.spec.name, move_api.EvacuateIn(brokers=[broker], reason="benchmark"))
        cluster.moving(within_s=WITHIN_S)
        moving = time.monotonic()
        cluster.event("evacuation.completed", before, within_s=WITHIN_S)
        over = time.monotonic()
    cluster.client.readmit(cluster.spec.name, node_api.BrokersIn(brokers=[broker], reason="benchmark"))
    shares = [float(e.data["share"]) for e in cluster.events(before) if e.type == "brake.changed"]
    return {
        **_figures(latencies, began, moving, over),
        "copied_s": round(over - moving, 1),
        "least_share": min(shares, default=1.0),
        "records": len(latencies.sent_at),
        "failed": latencies.failed,
    }


def _figures(latencies: Latencies, began: float, moving: float, over: float) -> dict[str, Any]:
    was = latencies.quantile_ms(0.99, began - BEFORE_S / 2, began)
    whole, half = (latencies.quantile_ms(0.99, since, over) for since in (moving, (moving + over) / 2))
    return {
        "p99_before_ms": round(was, 1),
        "p99_ms": round(whole, 1),
        "p99_ratio": round(whole / was, 2),
        "p99_ratio_last_half": round(half / was, 2),
    }
