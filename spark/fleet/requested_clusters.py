"""Who is planned: the clusters that were asked for, at the epoch they were asked for, the largest first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 its usual name
from pyspark.sql.pandas.types import to_arrow_schema

from spark.fleet.answers import AnswerRole, PlanAnswer, PlanOutcome
from spark.fleet.row_groups import RowGroup
from spark.fleet.schemas import TASKS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark.fleet.snapshot import Snapshot

MOST_SLOTS = 2_000
"""Shuffle partitions at most; beyond that slots are shared."""


@dataclass(frozen=True, slots=True)
class RequestedCluster:
    """A cluster, the epoch the asker acts in, what the snapshot says (None: it does not know the cluster)."""

    cluster: str
    epoch: int
    found_epoch: int | None
    partitions: int

    @property
    def refusal(self) -> PlanAnswer | None:
        """Why this cluster may not be planned from this snapshot; None when it may.

        A newer snapshot is refused as well: whoever asks in an older epoch has been replaced and would act on a plan
        that its successor does not know.
        """
        if self.found_epoch == self.epoch:
            return None
        if self.found_epoch is None:
            reason = f"the snapshot does not have cluster {self.cluster}, or no epoch of it: observe it, then ask again"
            return self._answer(PlanOutcome.REFUSED, reason)
        reason = f"asked in epoch {self.epoch}, the snapshot is of epoch {self.found_epoch}: " + (
            "observe again, then ask again" if self.found_epoch < self.epoch else "a successor has taken over"
        )
        return self._answer(PlanOutcome.STALE, reason)

    @property
    def unheard(self) -> PlanAnswer:
        """When no task gave an answer: the snapshot was replaced while the job ran."""
        return self._answer(
            PlanOutcome.REFUSED, f"cluster {self.cluster} left the snapshot while it was read: ask again"
        )

    def _answer(self, outcome: PlanOutcome, reason: str) -> PlanAnswer:
        return PlanAnswer(cluster=self.cluster, role=AnswerRole.WHOLE, epoch=self.epoch, outcome=outcome, reason=reason)


Heads = Mapping[str, tuple[int | None, int | None]]
"""Cluster -> the epoch and the number of partitions that its row of CLUSTERS says."""


def asked_of(
    snapshot: "Snapshot", row_groups: Sequence[RowGroup] | None, asked: int | Mapping[str, int]
) -> list[RequestedCluster]:
    """Cluster -> epoch: exactly those. A number: every cluster with a broker that has to be emptied (or that is in a
    state nobody knows), in this epoch. The largest first, ties by name. `row_groups`: of the snapshot, where known.
    """
    need, heads = _of_frames(snapshot) if row_groups is None else _of_row_groups(row_groups)
    epochs = dict.fromkeys(need, asked) if isinstance(asked, int) else asked
    nothing = (None, None)
    everyone = [
        RequestedCluster(
            cluster=name,
            epoch=epoch,
            found_epoch=heads.get(name, nothing)[0],
            partitions=heads.get(name, nothing)[1] or 0,
        )
        for name, epoch in epochs.items()
    ]
    return sorted(everyone, key=lambda one: (-one.partitions, one.cluster))


def _of_row_groups(row_groups: Sequence[RowGroup]) -> tuple[list[str], Heads]:
    need = {one.cluster for one in row_groups if one.to_empty}
    return sorted(need), {g.cluster: (g.epoch, g.partitions) for g in row_groups if g.table == "clusters"}


def _of_frames(snapshot: "Snapshot") -> tuple[list[str], Heads]:
    to_empty = ~F.coalesce(F.col("state"), F.lit("")).isin("active", "new")
    need = snapshot.brokers.where(to_empty).select("cluster").distinct().collect()
    heads = snapshot.clusters.select("cluster", "epoch", "partitions").collect()
    return [row["cluster"] for row in need], {row["cluster"]: (row["epoch"], row["partitions"]) for row in heads}


def tasks_of(
    session: "SparkSession", chosen: Sequence[RequestedCluster], *, split_above: int
) -> "tuple[DataFrame, int]":
    """TASKS and the number of slots. A cluster with more than `split_above` partitions has its bounds computed in a
    task of their own, beside its plan: the two share nothing but the snapshot.
    """
    rows: list[dict[str, Any]] = []
    for one in chosen:
        roles = (AnswerRole.SCHEDULE, AnswerRole.BOUNDS) if one.partitions > split_above else (AnswerRole.WHOLE,)
        for role in roles:
            rows.append({"cluster": one.cluster, "role": role, "slot": len(rows) % MOST_SLOTS, "epoch": one.epoch})
    table = pa.Table.from_pylist(rows, schema=to_arrow_schema(TASKS))
    return session.createDataFrame(table, schema=TASKS), min(len(rows), MOST_SLOTS)
