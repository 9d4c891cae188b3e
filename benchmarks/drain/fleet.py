"""A fleet as Parquet: 50 clusters, 2,600 brokers, 5 M partitions, 15 M replicas, one broker of each cluster drained.

Two tables, a file per cluster in each: `brokers` and `partitions`, the columns of planner.drain.model.arrow with the
name of the cluster before them.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.drain import generator
from benchmarks.drain.generator import Shape
from benchmarks.drain.states import drain
from planner.drain.model.arrow import brokers_table, partitions_table
from planner.drain.model.state import ClusterState

CLUSTERS = 50
SHAPE = Shape(brokers=52, topics=3_000, partitions=100_000, exact=True)
FIRST_SEED = 1_000


def clusters(count: int = CLUSTERS, shape: Shape = SHAPE) -> Iterator[tuple[str, ClusterState]]:
    """(name, state), one after the other: a whole fleet would not fit a small machine. Cluster i drains row i mod B."""
    for i in range(count):
        drawn = generator.cluster(shape, seed=FIRST_SEED + i)
        yield f"cluster-{i:02}", drain(drawn, (i % shape.brokers,))


def write(directory: Path, count: int = CLUSTERS, shape: Shape = SHAPE) -> int:
    """Writes `directory`/brokers/*.parquet and `directory`/partitions/*.parquet; returns the number of partitions."""
    written = 0
    for table in ("brokers", "partitions"):
        (directory / table).mkdir(parents=True, exist_ok=True)
    for name, state in clusters(count, shape):
        pq.write_table(_named(name, brokers_table(state)), directory / "brokers" / f"{name}.parquet")
        pq.write_table(_named(name, partitions_table(state)), directory / "partitions" / f"{name}.parquet")
        written += len(state.partitions)
    return written


def _named(name: str, table: Any) -> Any:
    return table.add_column(0, "cluster", pa.array(np.full(table.num_rows, name, dtype=object), pa.string()))
