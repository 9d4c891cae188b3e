"""Drain requests as DataFrames."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from planner.drain.codec import partitions_table, request_document
from planner.drain.plan import canonical
from planner.drain.request import DrainRequest
from spark.schemas import PARTITIONS, REQUESTS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def keys_of(requests: Sequence[DrainRequest]) -> list[str]:
    """A key per request, unique in the job even when two ask for the same drain."""
    return [f"{position}/{r.cluster_uid}/{r.drain_id}" for position, r in enumerate(requests)]


def requests_frame(session: "SparkSession", requests: Sequence[DrainRequest]) -> "DataFrame":
    """Schema REQUESTS, one row per request."""
    rows = [_row(key, request) for key, request in zip(keys_of(requests), requests, strict=True)]
    return session.createDataFrame(pa.Table.from_pylist(rows, schema=to_arrow_schema(REQUESTS)), schema=REQUESTS)


def partitions_frame(session: "SparkSession", requests: Sequence[DrainRequest]) -> "DataFrame":
    """Schema PARTITIONS, one row per partition of every request's cluster. Arrow all the way, no Python rows.

    Chunks are combined because Spark 4.1 drops the rows that follow an empty batch (a cluster without
    partitions).
    """
    tables = [
        partitions_table(request.cluster).add_column(0, "drain_key", pa.repeat(pa.scalar(key), len(request.cluster)))
        for key, request in zip(keys_of(requests), requests, strict=True)
    ]
    return session.createDataFrame(pa.concat_tables(tables).combine_chunks(), schema=PARTITIONS)


def _row(key: str, request: DrainRequest) -> dict[str, object]:
    brokers = request.cluster.brokers
    racks = [(int(broker), brokers.rack_name(row)) for row, broker in enumerate(brokers.id)]
    return {
        "drain_key": key,
        "request": canonical(request_document(request)).decode(),
        "outgoing": list(request.outgoing),
        "targets": list(request.targets),
        "racks": racks,
    }
