"""What clusters ask, drains and rebalances together, as one DataFrame: a row per cluster."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from planner.drain.plan import canonical
from planner.drain.request import DrainRequest
from planner.kinds import KINDS, PlanTask
from planner.rebalancing.question import RebalanceQuestion
from spark.frames import to_stream
from spark.schemas import REQUESTS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MOST_SLOTS = 400
"""Spark tasks of a job at most; beyond that clusters share them."""


def keys_of(tasks: Sequence[PlanTask]) -> list[str]:
    """A key per task, unique in the job even when two ask for the same plan."""
    asked = [task.kind.asked(task.request) for task in tasks]
    return [f"{position}/{cluster}/{name}" for position, (cluster, name, _) in enumerate(asked)]


def slots_of(tasks: Sequence[PlanTask]) -> int:
    """How many Spark tasks the job has."""
    return min(len(tasks), MOST_SLOTS)


def requests_frame(session: "SparkSession", tasks: Sequence[PlanTask]) -> "DataFrame":
    """Schema REQUESTS, a row per task. Drains have the first slots and the largest cluster of a kind goes first: no two
    wait for each other while a core is free.
    """
    order = list(KINDS)
    first = sorted(range(len(tasks)), key=lambda n: (order.index(tasks[n].kind.name), -tasks[n].partitions))
    slot = {n: position % slots_of(tasks) for position, n in enumerate(first)}
    rows = [
        {
            "plan_key": key,
            "kind": task.kind.name,
            "slot": slot[n],
            "request": canonical(task.kind.document(task.request)).decode(),
            "partitions": to_stream(task.kind.partitions(task.request)),
            **_judged_by(task.request),
        }
        for n, (key, task) in enumerate(zip(keys_of(tasks), tasks, strict=True))
    ]
    return session.createDataFrame(pa.Table.from_pylist(rows, schema=to_arrow_schema(REQUESTS)), schema=REQUESTS)


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
