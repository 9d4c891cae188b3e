"""The planner on Spark: a row per cluster, solved in a Python worker by the very function the server has."""

import json
import traceback
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from planner.kinds import KINDS
from spark.collection import uncollected
from spark.schemas import ANSWERS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def solved(requests: "DataFrame", slots: int) -> "DataFrame":
    """REQUESTS in, ANSWERS out. A cluster is one row: a plan needs all its partitions, and nothing of another's."""
    return requests.repartitionById(slots, "slot").mapInArrow(_solve, ANSWERS)


def _solve(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for row in range(batch.num_rows):
            yield _answer(batch.slice(row, 1))


def _answer(request: pa.RecordBatch) -> pa.RecordBatch:
    """Never raises: a defect, or a request that cannot be read, costs no other cluster its plan."""
    columns: dict[str, Any] = {"plan_key": request.column("plan_key")}
    try:
        with uncollected():
            columns |= _solved(request)
    except Exception:  # noqa: BLE001 it shows in one cluster's row, with its place; the others go on
        columns |= {"answer": [None], "moves": [[]], "failure": [traceback.format_exc(limit=-3).strip()]}
    return pa.RecordBatch.from_pydict(columns, schema=to_arrow_schema(ANSWERS))


def _solved(request: pa.RecordBatch) -> dict[str, Any]:
    kind = KINDS[request.column("kind")[0].as_py()]
    document = json.loads(request.column("request")[0].as_py())
    partitions = pa.ipc.open_stream(request.column("partitions")[0].as_buffer()).read_all()
    answer = kind.solve(kind.request(document, partitions), "spark")
    moves = [(m.topic, m.partition, m.before, m.after, m.bytes) for m in kind.moves(answer)]
    return {"answer": [kind.to_bytes(answer)], "moves": [moves], "failure": [None]}
