"""The planner on Spark: one group per drain, solved in a Python worker by the very function the server has."""

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from planner.drain.codec import answer_to_bytes, request_from
from planner.drain.infeasible import Infeasible
from planner.drain.solve import solve
from spark.schemas import ANSWERS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def solved(requests: "DataFrame", partitions: "DataFrame") -> "DataFrame":
    """REQUESTS and PARTITIONS in, ANSWERS out. A cluster is one group: its plan needs all of its partitions."""
    groups = requests.groupBy("drain_key").cogroup(partitions.groupBy("drain_key"))
    return groups.applyInArrow(_solve_group, ANSWERS)


def _solve_group(request: pa.Table, partitions: pa.Table) -> pa.Table:
    document = json.loads(request.column("request")[0].as_py())
    answer = solve(request_from(document, partitions), engine="spark")
    plan = answer.feasible_part if isinstance(answer, Infeasible) else answer
    moves = plan.moves if plan else ()
    columns: dict[str, Any] = {
        "drain_key": request.column("drain_key").slice(0, 1),
        "answer": [answer_to_bytes(answer)],
        "moves": [[(m.topic, m.partition, m.before, m.after, m.bytes) for m in moves]],
    }
    return pa.table(columns, schema=to_arrow_schema(ANSWERS))
