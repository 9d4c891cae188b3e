"""A fleet at one moment as tables: what Spark reads, and how it is written from arrays.

    clusters/  brokers/  partitions/        Parquet or Delta; columns as in spark.fleet.schemas

A file per cluster spares reading what is not asked for; any other layout gives the same answers.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as F  # noqa: N812 its usual name
from pyspark.sql.pandas.types import to_arrow_schema

from planner.drain.model.arrow import brokers_table, partitions_table
from planner.drain.model.state import ClusterState
from spark.fleet.row_groups import TABLES
from spark.fleet.schemas import CLUSTERS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Frames of schemas CLUSTERS, BROKERS, PARTITIONS and, where metric windows are known, RATES. `root`: where the
    tables lie as Parquet files, None where they do not.
    """

    clusters: "DataFrame"
    brokers: "DataFrame"
    partitions: "DataFrame"
    rates: "DataFrame | None" = None
    root: str | None = None

    def of(self, names: Sequence[str]) -> "Snapshot":
        """The same tables, of these clusters only; the names go down to the files as a filter."""
        chosen = F.col("cluster").isin(list(names))
        return replace(
            self,
            clusters=self.clusters.where(chosen),
            brokers=self.brokers.where(chosen),
            partitions=self.partitions.where(chosen),
            rates=None if self.rates is None else self.rates.where(chosen),
        )


def read_snapshot(session: "SparkSession", root: str, *, kind: str = "parquet") -> Snapshot:
    """The tables below `root`, a path or URL; `kind`: `parquet` or `delta`. Raises AnalysisException for a missing
    table, at once.

    A Parquet file that is damaged or gone gives no rows: its cluster then has not the rows its head promises, and is
    refused alone.
    """
    root = root if "://" in root else str(Path(root).absolute())
    frames = {}
    for name, schema in TABLES.items():
        reader = session.read.format(kind)
        if kind == "parquet":
            reader = reader.schema(schema).option("ignoreCorruptFiles", True).option("ignoreMissingFiles", True)
        frames[name] = reader.load(f"{root.rstrip('/')}/{name}").select(*schema.names)
    return Snapshot(**frames, root=root if kind == "parquet" else None)


def write_snapshot(root: Path, fleet: Iterable[tuple[str, ClusterState]], *, epoch: int) -> int:
    """A Parquet file per cluster and table; returns the number of partitions. One cluster in memory at a time."""
    written = 0
    for name, state in fleet:
        write_cluster(root, name, cluster_row(name, state, epoch=epoch), brokers_table(state), partitions_table(state))
        written += len(state.partitions)
    return written


def write_cluster(root: Path, name: str, row: dict[str, Any], brokers: pa.Table, partitions: pa.Table) -> None:
    """One cluster as it is, sound or not: `row` of CLUSTERS, the tables without the column `cluster`."""
    head = pa.Table.from_pylist([row], schema=to_arrow_schema(CLUSTERS))
    tables = {"clusters": head, "brokers": _named(name, brokers), "partitions": _named(name, partitions)}
    for table, rows in tables.items():
        directory = root / table
        directory.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows.replace_schema_metadata(None), directory / f"{name}.parquet")


def cluster_row(name: str, state: ClusterState, *, epoch: int) -> dict[str, Any]:
    """The row of CLUSTERS that belongs to these arrays."""
    ids = state.brokers.id.tolist()
    return {
        "cluster": name,
        "epoch": epoch,
        "disk_limit": state.disk_limit,
        "flow_bytes_per_s": state.flow_bytes_per_s,
        "destinations": [(ids[b], [ids[t] for t in to]) for b, to in sorted(state.destinations.items())],
        "brokers": len(state.brokers),
        "partitions": len(state.partitions),
    }


def _named(name: str, table: pa.Table) -> pa.Table:
    names: Any = pa.DictionaryArray.from_arrays(pa.array([0] * table.num_rows, pa.int32()), pa.array([name]))
    return table.add_column(0, "cluster", names.cast(pa.string()))
