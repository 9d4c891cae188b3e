"""The planner on Spark: one group per request, solved in a Python worker by the very function the server has."""

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from planner.kinds import KINDS, PlanKind
from spark.schemas import ANSWERS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def solved(kind: PlanKind[Any, Any], requests: "DataFrame", partitions: "DataFrame") -> "DataFrame":
    """REQUESTS and the kind's partitions in, ANSWERS out. A cluster is one group: a plan needs all its partitions."""
    name = kind.name

    def solve_group(request: pa.Table, partitions: pa.Table) -> pa.Table:
        return _answers(KINDS[name], request, partitions)

    groups = requests.groupBy("plan_key").cogroup(partitions.groupBy("plan_key"))
    return groups.applyInArrow(solve_group, ANSWERS)


def _answers(kind: PlanKind[Any, Any], request: pa.Table, partitions: pa.Table) -> pa.Table:
    document = json.loads(request.column("request")[0].as_py())
    answer = kind.solve(kind.request(document, partitions), "spark")
    columns: dict[str, Any] = {
        "plan_key": request.column("plan_key").slice(0, 1),
        "answer": [kind.to_bytes(answer)],
        "moves": [[(m.topic, m.partition, m.before, m.after, m.bytes) for m in kind.moves(answer)]],
    }
    return pa.table(columns, schema=to_arrow_schema(ANSWERS))
