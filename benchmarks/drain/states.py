"""The clusters every figure about drains is measured on, by name.

    state("c60")             the state of the published tables
    state("rc40-rack0", 7)   another draw of the same shape

Clusters of generator G: c12 (1 of 12 brokers drained), c60 (4 of one rack of 60), c60x (4 over all racks),
c300 (20 of one rack of 300), rf60 (60 old brokers onto 60 new ones). Cruise Control's RandomCluster with 40, 80 and
140 brokers: rc40-b0, rc40-b0-3, rc40-b0-4, rc40-rack0 and so on, named after who is drained.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from benchmarks.drain import generator, random_cluster
from benchmarks.drain.generator import Shape
from benchmarks.drain.random_cluster import Recipe
from planner.drain.model.state import Brokers, BrokerState, ClusterState

SMALL = Shape(brokers=12, topics=60, partitions=1_000)
MIDDLE = Shape(brokers=60, topics=600, partitions=20_000)
LARGE = Shape(brokers=300, topics=3_000, partitions=100_000)

GENERATED: dict[str, tuple[Shape, int, tuple[int, ...]]] = {
    "c12": (SMALL, 1, (0,)),
    "c60": (MIDDLE, 2, (0, 3, 6, 9)),
    "c60x": (MIDDLE, 2, (0, 1, 2, 3)),
    "c300": (LARGE, 3, tuple(range(0, 60, 3))),
    "rf60": (MIDDLE, 2, tuple(range(60))),
}
"""Name -> shape, published seed, rows drained (row b stands in rack b mod 3)."""

SIZES = (40, 80, 140)
DRAINS: dict[str, tuple[int, ...]] = {"b0": (0,), "b0-3": (0, 1, 2, 3), "b0-4": (0, 1, 2, 3, 4), "rack0": ()}
RANDOM = tuple(f"rc{size}-{drain}" for size in SIZES for drain in DRAINS)
NAMES = (*GENERATED, *RANDOM)

GIANT = Recipe(
    brokers=215, racks=20, topics=3_500, replicas=2_800_002, mean_mb=100.0 * (50_001 / 40) / (2_800_002 / 215)
)
"""The cluster of Cruise Control's issue #1592, log sizes scaled so that disks stay as full as in the base cluster."""


def state(name: str, seed: int | None = None) -> ClusterState:
    """The named cluster; `seed` None is the published draw. Raises ValueError for a name that is none of NAMES."""
    if name in GENERATED:
        shape, published, drained = GENERATED[name]
        drawn = generator.cluster(shape, seed=published if seed is None else seed)
        return rolled(drawn) if name == "rf60" else drain(drawn, drained)
    if name in RANDOM:
        size, _, drained_name = name.removeprefix("rc").partition("-")
        return _random(Recipe(brokers=int(size), shift=seed or 0), DRAINS[drained_name])
    raise ValueError(f"no state is called {name!r}; there are {', '.join(NAMES)}")


def giant(seed: int = 0) -> ClusterState:
    """2.8 million replicas on 215 brokers, broker 0 drained."""
    return _random(replace(GIANT, shift=seed), (0,))


def drain(cluster: ClusterState, rows: Sequence[int]) -> ClusterState:
    """The same cluster with the brokers of these rows OUTGOING."""
    states = cluster.brokers.state.copy()
    states[list(rows)] = BrokerState.OUTGOING
    return replace(cluster, brokers=replace(cluster.brokers, state=states))


def rolled(cluster: ClusterState) -> ClusterState:
    """Every broker OUTGOING, as many NEW ones like them in the same racks; which takes whose place is left open."""
    old = cluster.brokers
    count = len(old)
    both = Brokers(
        id=np.concatenate([old.id, old.id + count]).astype(np.int32),
        rack=np.tile(old.rack, 2),
        racks=old.racks,
        state=np.repeat(np.array([BrokerState.OUTGOING, BrokerState.NEW], dtype=np.int8), count),
        disk_bytes=np.tile(old.disk_bytes, 2),
        ingress_bytes_per_s=np.tile(old.ingress_bytes_per_s, 2),
        egress_bytes_per_s=np.tile(old.egress_bytes_per_s, 2),
    )
    return replace(cluster, brokers=both)


def _random(recipe: Recipe, drained: tuple[int, ...]) -> ClusterState:
    """No row named: the whole of rack 0."""
    cluster = random_cluster.cluster(recipe)
    return drain(cluster, drained or tuple(int(row) for row in np.flatnonzero(cluster.brokers.rack == 0)))
