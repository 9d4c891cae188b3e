"""Plans that passed both judges, as files: one directory per cluster, written by the tasks, not by the driver."""

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import fs
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from spark.fleet.answers import certificate
from spark.fleet.files import MANIFEST, files_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PUBLISHED = StructType(
    [
        StructField("cluster", StringType(), nullable=False),
        StructField("files", IntegerType(), nullable=False),
        StructField("newer_epoch", LongType()),
    ]
)
"""`newer_epoch`: what stands there is of a later epoch and was left alone."""


def published(plans: "DataFrame", root: str) -> "DataFrame":
    """Rows with cluster, epoch, plan, reassignments, rollbacks, values and bounds in, PUBLISHED out; writes when it is
    collected, below `root`/<cluster>/. A task that runs twice writes the same.
    """

    def publish(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = [publish_cluster(row, root) for row in batch.to_pylist()]
            yield from pa.Table.from_pylist(rows, schema=to_arrow_schema(PUBLISHED)).to_batches()

    return plans.mapInArrow(publish, PUBLISHED)


def publish_cluster(row: dict[str, Any], root: str) -> dict[str, Any]:
    """A row of PUBLISHED. A job that was overtaken finds a manifest of a later epoch and writes nothing."""
    store, path = fs.FileSystem.from_uri(f"{root.rstrip('/')}/{row['cluster']}")
    newest = _epoch_at(store, path)
    if newest is not None and newest > row["epoch"]:
        return {"cluster": row["cluster"], "files": 0, "newer_epoch": newest}
    store.create_dir(path, recursive=True)
    if newest is not None:
        store.delete_file(f"{path}/{MANIFEST}")
    written = 0
    for name, content in files_of(
        cluster=row["cluster"],
        epoch=row["epoch"],
        plan=row["plan"],
        certificate=certificate(row["values"], row["bounds"]),
        reassignments=row["reassignments"],
        rollbacks=row["rollbacks"],
    ):
        with store.open_output_stream(f"{path}/{name}") as stream:
            stream.write(content)
        written += 1
    return {"cluster": row["cluster"], "files": written, "newer_epoch": None}


def _epoch_at(store: fs.FileSystem, path: str) -> int | None:
    """The epoch of the plan that stands there; None for none, or one that was never finished."""
    if store.get_file_info(f"{path}/{MANIFEST}").type == fs.FileType.NotFound:
        return None
    with store.open_input_stream(f"{path}/{MANIFEST}") as stream:
        return int(json.loads(stream.read())["epoch"])
