"""Requests of one kind as DataFrames."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from planner.drain.plan import canonical
from planner.drain.request import DrainRequest
from planner.kinds import PlanKind, Request
from planner.rebalancing.question import RebalanceQuestion
from spark.schemas import PARTITIONS, REBALANCE_PARTITIONS, REQUESTS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PARTITIONS = {"drain": PARTITIONS, "rebalance": REBALANCE_PARTITIONS}


def keys_of(kind: PlanKind[Request, Any], requests: Sequence[Request]) -> list[str]:
    """A key per request, unique in the job even when two ask for the same plan."""
    asked = [kind.asked(request) for request in requests]
    return [f"{position}/{cluster}/{name}" for position, (cluster, name, _) in enumerate(asked)]


def requests_frame(session: "SparkSession", kind: PlanKind[Request, Any], requests: Sequence[Request]) -> "DataFrame":
    """Schema REQUESTS, one row per request."""
    rows = [
        {"plan_key": key, "request": canonical(kind.document(request)).decode(), **_judged_by(request)}
        for key, request in zip(keys_of(kind, requests), requests, strict=True)
    ]
    return session.createDataFrame(pa.Table.from_pylist(rows, schema=to_arrow_schema(REQUESTS)), schema=REQUESTS)


def partitions_frame(session: "SparkSession", kind: PlanKind[Request, Any], requests: Sequence[Request]) -> "DataFrame":
    """The kind's schema, one row per partition of every request's cluster. Arrow all the way, no Python rows.

    Chunks are combined because Spark 4.1 drops the rows that follow an empty batch (a cluster without
    partitions).
    """
    tables = []
    for key, request in zip(keys_of(kind, requests), requests, strict=True):
        table = kind.partitions(request)
        tables.append(table.add_column(0, "plan_key", pa.repeat(pa.scalar(key), table.num_rows)))
    return session.createDataFrame(pa.concat_tables(tables).combine_chunks(), schema=_PARTITIONS[kind.name])


def _judged_by(request: object) -> dict[str, object]:
    """Who may give, who may get, and racks by broker."""
    if isinstance(request, DrainRequest):
        brokers = request.cluster.brokers
        racks = [(int(broker), brokers.rack_name(row)) for row, broker in enumerate(brokers.id)]
        return {"givers": list(request.outgoing), "targets": list(request.targets), "racks": racks}
    if isinstance(request, RebalanceQuestion):
        asked, seen = request.request, request.cluster
        told = {broker: known.rack for broker, known in seen.brokers.items()}
        ids = sorted(told.keys() | {b for p in seen.partitions for b in p.replicas})
        racks = [(broker, asked.racks.get(broker) or told.get(broker, "")) for broker in ids]
        return {"givers": list(asked.receivers), "targets": list(asked.new or asked.receivers), "racks": racks}
    raise TypeError(f"no plan is made of a {type(request).__name__}")
