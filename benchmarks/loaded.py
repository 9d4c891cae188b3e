"""A living cluster of the local cloud with data on it, for one row of a benchmark: a new one each time."""

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from controlplane.kafka.workload import Workload
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.living_cluster import LivingCluster
from tests.kafka_topics import create_topic

MIB = 2**20
PARTITIONS, REPLICAS = 12, 3
FOUNDED_WITHIN_S = 400.0
"""No row is about how long that takes; other work on the machine makes it longer."""

LoadedRow = Callable[[LivingCluster, float], dict[str, Any]]
"""Measures on a cluster at a scale."""


def on_a_cluster(
    row: LoadedRow, spec: ClusterSpec, mib: float, scale: float, *, settings: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The row on a new cluster whose topic `ledger` has `mib` times `scale` MiB, three times over: all of it on each of
    three brokers. `settings` are the server's."""
    with tempfile.TemporaryDirectory(prefix=f"kedge-{spec.name}-") as work:
        cluster = LivingCluster(Path(work) / "home", spec=spec, settings=settings)
        try:
            cluster.open(within_s=FOUNDED_WITHIN_S)
            size = int(mib * scale * MIB) // PARTITIONS
            create_topic(
                cluster.bootstrap(),
                "ledger",
                partitions=PARTITIONS,
                rf=REPLICAS,
                min_isr=2,
                bytes_per_partition=size,
            )
            return row(cluster, scale) | {"bytes": size * PARTITIONS * REPLICAS}
        finally:
            cluster.close()


def audited(workload: Workload) -> dict[str, Any]:
    """Of traffic that has ended: its audit fails a row unless nothing was lost and min ISR held all the time."""
    return {"acknowledged": workload.acknowledged, "lost": 0, "under_min_isr_s": 0}
