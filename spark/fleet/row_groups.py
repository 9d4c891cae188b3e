"""Where the rows of each cluster lie in a snapshot of Parquet files, and those rows straight from there.

A footer says which cluster a row group is of. So nothing of a large table has to pass through the JVM row by row: a
task reads what it plans, as columns. What a footer does not say is read: the column `cluster` of a mixed row group.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import fs
from pyspark.sql.pandas.types import to_arrow_schema

from spark.fleet.schemas import BROKERS, CLUSTERS, PARTITIONS, ROW_GROUPS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CLUSTER = "cluster"
TABLES = {"clusters": CLUSTERS, "brokers": BROKERS, "partitions": PARTITIONS}
MOST_AT_ONCE = 16
"""Footers read at once by a task; object stores answer slowly, and many."""

MOST_AGAIN = 2
"""Rows may be read so many times at most, each time for another cluster whose rows share the row group."""

_RECEIVING = ("active", "new")
_UNREADABLE = (OSError, pa.ArrowException, NotImplementedError)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowGroup:
    """A row of ROW_GROUPS with a path."""

    table: str
    path: str
    row_group: int
    cluster: str
    rows: int
    epoch: int | None = None
    partitions: int | None = None
    to_empty: bool | None = None


def row_groups_of(session: "SparkSession", root: str) -> tuple[RowGroup, ...] | None:
    """All of a snapshot below `root`, a path or URL. A job with a task per table finds them: tasks alone see storage.

    None where they lie so that each task would read too much that is not its own, and where pyarrow has no access.
    """
    tables = session.createDataFrame(pa.table({"table": list(TABLES)})).repartition(len(TABLES), "table")

    def index(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = [row for table in batch.column("table").to_pylist() for row in indexed(root, str(table))]
            yield from pa.Table.from_pylist(rows, schema=_SCHEMA).to_batches()

    return apart(tables.mapInArrow(index, ROW_GROUPS).toArrow().to_pylist())


def apart(rows: Sequence[Mapping[str, Any]]) -> tuple[RowGroup, ...] | None:
    """Rows of ROW_GROUPS in, None where they are no way to read the snapshot."""
    if any(row["path"] is None for row in rows):
        return None
    found = tuple(RowGroup(**row) for row in rows)
    once = {(one.path, one.row_group): one.rows for one in found}
    return found if sum(one.rows for one in found) <= MOST_AGAIN * max(1, sum(once.values())) else None


def indexed(root: str, table: str) -> list[dict[str, Any]]:
    """Rows of ROW_GROUPS. A file that is damaged or gone has none."""
    try:
        store, base = fs.FileSystem.from_uri(f"{root.rstrip('/')}/{table}")
        below = store.get_file_info(fs.FileSelector(base, recursive=True))
    except _UNREADABLE:
        return [{"table": table, "path": None}]
    inside = [one.path.removeprefix(base).strip("/") for one in below if one.type == fs.FileType.File]
    paths = sorted(path for path in inside if not any(part.startswith(("_", ".")) for part in path.split("/")))
    with ThreadPoolExecutor(MOST_AT_ONCE) as threads:
        of_files = threads.map(lambda path: _row_groups(store, base, path, table), paths)
        rows = [row for rows in of_files for row in rows]
    return [{**row, "path": row["path"] and f"{root.rstrip('/')}/{table}/{row['path']}"} for row in rows]


def rows_of(path: str, row_group: int, table: str, cluster: str) -> pa.Table:
    """The rows of one cluster in that row group, as the columns of its schema without `cluster`; none where the file
    is damaged or gone.
    """
    schema = pa.schema([field for field in to_arrow_schema(TABLES[table]) if field.name != CLUSTER])
    try:
        store, base = fs.FileSystem.from_uri(path)
        with store.open_input_file(base) as source:
            file = pq.ParquetFile(source)
            own = _own(file.metadata.row_group(row_group)) == cluster
            rows = file.read_row_group(row_group, columns=schema.names if own else [CLUSTER, *schema.names])
        if not own:
            rows = rows.filter(pc.equal(rows[CLUSTER], pa.scalar(cluster)))
        return _cast(rows, schema)
    except _UNREADABLE:
        return schema.empty_table()


def _cast(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """A column that is missing is null."""
    there = set(rows.column_names)
    columns = [
        rows[field.name].cast(field.type) if field.name in there else pa.nulls(rows.num_rows, field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)


def _row_groups(store: fs.FileSystem, base: str, path: str, table: str) -> list[dict[str, Any]]:
    try:
        with store.open_input_file(f"{base}/{path}") as source:
            file = pq.ParquetFile(source)
            if CLUSTER not in file.schema_arrow.names:
                return [{"table": table, "path": None}]
            of_groups = [_of_row_group(file, number, table) for number in range(file.num_row_groups)]
    except _UNREADABLE:
        return []
    return [{"table": table, "path": path, **row} for rows in of_groups for row in rows]


def _of_row_group(file: pq.ParquetFile, number: int, table: str) -> list[dict[str, Any]]:
    footer = file.metadata.row_group(number)
    shared = {"row_group": number, "rows": footer.num_rows}
    if table == "clusters":
        heads = file.read_row_group(number, columns=[CLUSTER, "epoch", "partitions"])
        return [{**shared, **row} for row in heads.to_pylist()]
    if table == "brokers":
        brokers = file.read_row_group(number, columns=[CLUSTER, "state"])
        told = zip(brokers[CLUSTER].to_pylist(), brokers["state"].to_pylist(), strict=True)
        gives = {cluster for cluster, state in told if state not in _RECEIVING}
        return [{**shared, CLUSTER: c, "to_empty": c in gives} for c in brokers[CLUSTER].unique().to_pylist()]
    own = _own(footer)
    if own is not None:
        return [{**shared, CLUSTER: own}]
    names = file.read_row_group(number, columns=[CLUSTER])[CLUSTER].unique()
    return [{**shared, CLUSTER: cluster} for cluster in names.to_pylist()]


def _own(footer: Any) -> str | None:
    """The one cluster of a row group, where its footer says so."""
    for number in range(footer.num_columns):
        column = footer.column(number)
        if column.path_in_schema == CLUSTER:
            told = column.statistics
            alone = told is not None and told.has_min_max and not told.null_count and told.min == told.max
            return told.min.decode() if alone and isinstance(told.min, bytes) else told.min if alone else None
    return None


_SCHEMA = to_arrow_schema(ROW_GROUPS)
