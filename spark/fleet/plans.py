"""The planner on Spark: packs in, answers out, one task per cluster, two for a large one."""

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 its usual name
from pyspark.sql.pandas.types import to_arrow_schema

from spark.fleet.answers import AnswerRole
from spark.fleet.kernel import answer_of
from spark.fleet.packing import packed
from spark.fleet.schemas import ANSWERS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark.fleet.snapshot import Snapshot

_GROUP = ("slot", "cluster", "role", "epoch")


def answered(snapshot: "Snapshot", tasks: "DataFrame", count: int) -> "DataFrame":
    """A snapshot of nothing but clusters with a task, and TASKS with `count` slots in; ANSWERS out.

    Rows are packed where they are read. A pack goes to the slot of its cluster and not to a hash: the largest cluster
    starts first, no two wait for each other while a core is free.
    """
    packs = packed(snapshot.clusters, "clusters")
    packs = packs.unionByName(packed(snapshot.brokers, "brokers"))
    packs = packs.unionByName(packed(snapshot.partitions, "partitions"))
    if snapshot.rates is not None:
        packs = packs.unionByName(packed(snapshot.rates, "rates"))
    placed = packs.join(F.broadcast(tasks), "cluster").repartitionById(count, "slot")
    return placed.groupBy(*_GROUP).applyInArrow(_answer, ANSWERS)


def _answer(packs: pa.Table) -> pa.Table:
    first = {name: packs[name][0].as_py() for name in ("cluster", "role", "epoch")}
    answer = answer_of(first["cluster"], AnswerRole(first["role"]), first["epoch"], packs)
    return pa.Table.from_pylist([answer.row()], schema=_SCHEMA)


_SCHEMA = to_arrow_schema(ANSWERS)
