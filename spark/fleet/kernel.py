"""One cluster from its packs to its answer: planner, independent replay, bounds, second check; nothing of Spark.

Every way a cluster can go wrong ends here as a row, so that it never costs another cluster its plan.
"""

import json
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from pydantic_core import to_json

from planner.drain.bounds import Bounds, bounds_of
from planner.drain.certified import gathers_leaders
from planner.drain.model.arrow import POLICY, state_of
from planner.drain.model.document import unknown_rates
from planner.drain.model.kafka_json import reassignments, rollbacks
from planner.drain.model.plan import Schedule
from planner.drain.model.plan_document import plan_json, with_assumptions
from planner.drain.model.problem import StateProblem, StateProblemKind
from planner.drain.model.state import ClusterState
from planner.drain.replay import Replay, replay
from planner.drain.solver import Unsolvable, solve
from spark.fleet.answers import AnswerRole, PlanAnswer, PlanOutcome, bounds_row, refused
from spark.fleet.packing import unpacked
from spark.fleet.rates import with_rates
from spark.fleet.soundness import broker_problems, partition_problems, policy_problems
from spark.fleet.validation import violations_of

KERNELS = ("decode", "solve", "bounds", "replay", "render")
"""Steps that planning itself takes, wherever it runs. `read` and `check` are a fleet job's own."""


def answer_of(cluster: str, role: AnswerRole, epoch: int, packs: pa.Table) -> PlanAnswer:
    """Never raises: what goes wrong is in the answer. `packs`: table PACKS of this cluster alone."""
    clock = _Clock({})
    try:
        with clock.runs("read"):
            tables = {name: unpacked(packs, name) for name in ("clusters", "brokers", "partitions", "rates")}
        with clock.runs("decode"):
            read = _read(tables, epoch)
        if isinstance(read, _Cluster):
            answer = _planned(cluster, role, epoch, read.state, clock)
            answer = _checked(answer, read, clock)
        else:
            answer = refused(cluster, role, epoch, read)
    except Exception:  # noqa: BLE001 a defect shows in one cluster's row, with its place; the fleet goes on
        reason = f"the kernel failed, please report it with the snapshot:\n{traceback.format_exc(limit=-6)}"
        answer = PlanAnswer(cluster=cluster, role=role, epoch=epoch, outcome=PlanOutcome.FAILED, reason=reason)
    return replace(answer, seconds=clock.seconds)


@dataclass(frozen=True, slots=True)
class _Clock:
    """Processor seconds: others on the machine make them no longer."""

    seconds: dict[str, float]

    @contextmanager
    def runs(self, step: str) -> Iterator[None]:
        began = time.process_time()
        try:
            yield
        finally:
            self.seconds[step] = self.seconds.get(step, 0.0) + time.process_time() - began


@dataclass(frozen=True, slots=True, eq=False)
class _Cluster:
    """`state` for the planner; for the second check the row of CLUSTERS and the tables as they are."""

    state: ClusterState
    policy: dict[str, Any]
    brokers: pa.Table
    partitions: pa.Table


def _read(tables: Mapping[str, pa.Table | None], epoch: int) -> _Cluster | list[StateProblem]:
    """The arrays, or all that is wrong with the tables."""
    heads, brokers, partitions = (tables[name] for name in ("clusters", "brokers", "partitions"))
    if heads is None or heads.num_rows != 1 or heads["epoch"][0].as_py() != epoch:
        return [StateProblem(StateProblemKind.CONTRADICTION, "clusters", "changed while the snapshot was read")]
    policy = heads.to_pylist()[0]
    policy["destinations"] = dict(policy["destinations"] or [])
    torn = [*_torn(policy, brokers, partitions)]
    if torn or brokers is None or partitions is None:
        return torn
    problems = [
        *policy_problems(policy, brokers),
        *broker_problems(brokers),
        *partition_problems(partitions, brokers),
    ]
    if problems:
        return problems
    measured = tables["rates"]
    if measured is not None:
        partitions = with_rates(partitions, measured)
    state = state_of(brokers.replace_schema_metadata({POLICY: _policy(policy)}), partitions)
    return _Cluster(state, policy, brokers, partitions)


def _torn(policy: Mapping[str, Any], brokers: pa.Table | None, partitions: pa.Table | None) -> Iterator[StateProblem]:
    """A snapshot that was read while it was written, or lost a file, has not the rows it says it has."""
    for name, table in (("brokers", brokers), ("partitions", partitions)):
        found, said = table.num_rows if table is not None else 0, policy[name]
        if found != said or table is None:
            message = f"{found} rows were read, the snapshot says {said}"
            yield StateProblem(StateProblemKind.CONTRADICTION, f"clusters.{name}", message)


def _policy(policy: Mapping[str, Any]) -> bytes:
    return json.dumps({name: policy[name] for name in ("disk_limit", "flow_bytes_per_s", "destinations")}).encode()


def _planned(cluster: str, role: AnswerRole, epoch: int, state: ClusterState, clock: _Clock) -> PlanAnswer:
    """Raises what the kernels raise."""
    answer = PlanAnswer(cluster=cluster, role=role, epoch=epoch, outcome=PlanOutcome.PLANNED)
    if role is AnswerRole.BOUNDS:
        return replace(answer, bounds=_bounds(state, clock))
    schedule = _solved(state, clock)
    if isinstance(schedule, Unsolvable):
        return replace(answer, outcome=PlanOutcome.INFEASIBLE, reason=f"{schedule.kind}: {schedule.message}")
    run = _replayed(state, schedule, clock)
    if gathers_leaders(run) and isinstance(calmer := _solved(state, clock, leaders_stay=True), Schedule):
        schedule, run = calmer, _replayed(state, calmer, clock)
    schedule = with_assumptions(schedule, unknown_rates(state))
    if run.violations or run.left_behind:
        reason = "; ".join(map(str, run.violations[:3])) or f"{run.left_behind} replicas left behind"
        return replace(answer, outcome=PlanOutcome.FAILED, reason=f"the plan breaks rules in its own replay: {reason}")
    answer = replace(answer, values=_values(state, run), start_s=run.start_s, end_s=run.end_s)
    if role is AnswerRole.WHOLE:
        answer = replace(answer, bounds=_bounds(state, clock))
    with clock.runs("render"):
        return _rendered(answer, state, schedule)


def _checked(answer: PlanAnswer, cluster: _Cluster, clock: _Clock) -> PlanAnswer:
    """What the second check says of a plan. Raises what `violations_of` raises."""
    if answer.outcome is not PlanOutcome.PLANNED or answer.plan is None:
        return answer
    with clock.runs("check"):
        found = violations_of(answer, cluster.policy, cluster.brokers, cluster.partitions)
    if not found:
        return answer
    first = "; ".join(map(str, found[:3]))
    return replace(
        answer,
        outcome=PlanOutcome.VIOLATED,
        reason=f"the second check found {len(found)} violations, first {first}",
        violations=tuple(map(str, found)),
    )


def _solved(state: ClusterState, clock: _Clock, *, leaders_stay: bool = False) -> Schedule | Unsolvable:
    with clock.runs("solve"):
        return solve(state, leaders_stay=leaders_stay)


def _replayed(state: ClusterState, schedule: Schedule, clock: _Clock) -> Replay:
    with clock.runs("replay"):
        return replay(state, schedule)


def _bounds(state: ClusterState, clock: _Clock) -> dict[str, float]:
    with clock.runs("bounds"):
        bounds: Bounds = bounds_of(state)
        return bounds_row(bounds)


def _values(state: ClusterState, run: Replay) -> dict[str, float]:
    """What `judge` calls the values of the measures; the bounds may come from another task."""
    return {
        "bytes": float(run.bytes_moved),
        "makespan_s": run.makespan_s,
        "disk": float(run.disk_after[state.brokers.may_receive].max(initial=0.0)),
        "leaders": float(run.leaders.max(initial=0)),
        "leader_changes": float(run.leader_changes),
        "release_s": float(np.sum([*run.release_s.values()])),
    }


def _rendered(answer: PlanAnswer, state: ClusterState, schedule: Schedule) -> PlanAnswer:
    return replace(
        answer,
        plan=plan_json(state, schedule).decode(),
        reassignments=tuple(to_json(document).decode() for document in reassignments(state, schedule)),
        rollbacks=tuple(to_json(document).decode() for document in rollbacks(state, schedule)),
    )
