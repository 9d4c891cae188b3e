"""The planner on Spark: packs in, answers out, one task per cluster, two for a large one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 its usual name
from pyspark.sql.pandas.types import to_arrow_schema

from spark.collection import uncollected
from spark.fleet.answers import AnswerRole
from spark.fleet.kernel import answer_of
from spark.fleet.packing import packed
from spark.fleet.row_groups import RowGroup
from spark.fleet.schemas import ANSWERS, PACKS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark.fleet.snapshot import Snapshot

_GROUP = ("slot", "cluster", "role", "epoch")


def answered(
    session: "SparkSession", snapshot: "Snapshot", row_groups: Sequence[RowGroup] | None, tasks: "DataFrame", count: int
) -> "DataFrame":
    """A snapshot of nothing but clusters with a task, and TASKS with `count` slots in; ANSWERS out.

    With `row_groups` a task reads its cluster from the files; else rows are packed where Spark reads them. A pack goes
    to the slot of its cluster and not to a hash: the largest cluster starts first, no two wait for each other while a
    core is free.
    """
    packs = _packed(snapshot) if row_groups is None else _located(session, row_groups)
    if snapshot.rates is not None:
        packs = packs.unionByName(packed(snapshot.rates, "rates"))
    placed = packs.join(F.broadcast(tasks), "cluster").repartitionById(count, "slot")
    return placed.groupBy(*_GROUP).applyInArrow(_answer, ANSWERS)


def _packed(snapshot: "Snapshot") -> "DataFrame":
    packs = packed(snapshot.clusters, "clusters")
    packs = packs.unionByName(packed(snapshot.brokers, "brokers"))
    return packs.unionByName(packed(snapshot.partitions, "partitions"))


def _located(session: "SparkSession", row_groups: Sequence[RowGroup]) -> "DataFrame":
    rows = [{name: getattr(one, name) for name in ("cluster", "table", "path", "row_group")} for one in row_groups]
    return session.createDataFrame(pa.Table.from_pylist(rows, schema=to_arrow_schema(PACKS)), schema=PACKS)


def _answer(packs: pa.Table) -> pa.Table:
    first = {name: packs[name][0].as_py() for name in ("cluster", "role", "epoch")}
    with uncollected():
        answer = answer_of(first["cluster"], AnswerRole(first["role"]), first["epoch"], packs)
    return pa.Table.from_pylist([answer.row()], schema=_SCHEMA)


_SCHEMA = to_arrow_schema(ANSWERS)
