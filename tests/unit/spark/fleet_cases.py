"""Small clusters as a fleet snapshot holds them, and their packs, without Spark."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from benchmarks.drain import generator
from benchmarks.drain.generator import Shape
from benchmarks.drain.states import drain
from planner.drain.model.arrow import brokers_table, partitions_table
from planner.drain.model.state import ClusterState
from spark.fleet.packing import packs_of
from spark.fleet.schemas import CLUSTERS, PACKS
from spark.fleet.snapshot import cluster_row

EPOCH = 7
SMALL = Shape(brokers=9, topics=6, partitions=90, exact=True)


def small_state(seed: int = 5) -> ClusterState:
    """9 brokers in 3 racks, 90 partitions of RF 3, the first broker drained."""
    return drain(generator.cluster(SMALL, seed=seed), (0,))


def without_rates(state: ClusterState) -> ClusterState:
    unknown = state.partitions.write_bytes_per_s * float("nan")
    parts = replace(state.partitions, write_bytes_per_s=unknown, read_bytes_per_s=unknown)
    return replace(state, partitions=parts)


def tables_of(state: ClusterState) -> dict[str, pa.Table]:
    """The two tables, policy apart."""
    return {"brokers": brokers_table(state).replace_schema_metadata(None), "partitions": partitions_table(state)}


def head_of(name: str, state: ClusterState, changes: Mapping[str, Any] | None = None) -> pa.Table:
    row = {**cluster_row(name, state, epoch=EPOCH), **(changes or {})}
    return pa.Table.from_pylist([row], schema=to_arrow_schema(CLUSTERS))


def packs_for(name: str, state: ClusterState, tables: Mapping[str, pa.Table], **head: Any) -> pa.Table:
    """PACKS of one cluster, its partitions in two of them."""
    batches = list(packs_of(head_of(name, state, head).to_batches()[0], "clusters"))
    for table, rows in tables.items():
        for batch in named(name, rows).combine_chunks().to_batches(max_chunksize=60):
            batches += packs_of(batch, table)
    return pa.Table.from_batches(batches, schema=to_arrow_schema(PACKS))


def named(name: str, rows: pa.Table) -> pa.Table:
    return rows.add_column(0, "cluster", pa.array([name] * rows.num_rows, pa.string()))


def with_cell(table: pa.Table, column: str, row: int, value: Any) -> pa.Table:
    """The table with one cell changed."""
    cells = table[column].to_pylist()
    cells[row] = value
    changed = pa.array(cells, table.schema.field(column).type)
    return table.set_column(table.column_names.index(column), table.schema.field(column), changed)
