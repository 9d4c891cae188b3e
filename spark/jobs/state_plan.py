"""One cluster's drain plan as a Spark job: the function a server and a laptop run, in a Python worker."""

import json
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from planner.drain.certified import certified
from planner.drain.model.arrow import brokers_table, partitions_table, state_of
from planner.drain.model.plan import Schedule
from planner.drain.model.plan_document import plan_json, read_plan
from planner.drain.model.state import ClusterState
from planner.drain.solver import Unsolvable
from planner.drain.solver.infeasible import refusal_document, refusal_from

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ASKED = StructType(
    [
        StructField("brokers", BinaryType(), nullable=False),
        StructField("partitions", BinaryType(), nullable=False),
        StructField("options", StringType(), nullable=False),
    ]
)
"""Arrow streams of the two tables of planner.drain.model.arrow (the policy is in their schema metadata)."""

ANSWERED = StructType(
    [
        StructField("plan", BinaryType(), nullable=True),
        StructField("refusal", StringType(), nullable=True),
    ]
)


def plan_state(
    session: "SparkSession", state: ClusterState, *, excluded_topics: Collection[str] = (), allow_partial: bool = False
) -> Schedule | Unsolvable:
    """The schedule that survived its replay in the worker, or why there is none. Raises what Spark raises, the
    worker's PlanRefused inside.
    """
    options = json.dumps({"excluded_topics": sorted(excluded_topics), "allow_partial": allow_partial})
    asked = session.createDataFrame([(_stream(brokers_table(state)), _stream(partitions_table(state)), options)], ASKED)
    (answer,) = asked.mapInArrow(_solve, ANSWERED).collect()
    part = read_plan(bytes(answer.plan), state).schedule if answer.plan is not None else None
    if answer.refusal is None:
        assert part is not None
        return part
    return refusal_from(json.loads(answer.refusal), part)


def _solve(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for row in batch.to_pylist():
            state = state_of(_table(row["brokers"]), _table(row["partitions"]))
            answer = certified(state, **json.loads(row["options"]))
            if isinstance(answer, Unsolvable):
                plan = None if answer.part is None else plan_json(state, answer.part)
                refusal = json.dumps(refusal_document(answer))
            else:
                plan, refusal = plan_json(state, answer.schedule), None
            columns: dict[str, Any] = {"plan": [plan], "refusal": [refusal]}
            yield pa.RecordBatch.from_pydict(columns, to_arrow_schema(ANSWERED))


def _stream(table: pa.Table) -> bytearray:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytearray(sink.getvalue().to_pybytes())


def _table(stream: bytes) -> pa.Table:
    return pa.ipc.open_stream(stream).read_all()
