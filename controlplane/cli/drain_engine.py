"""Who computes a plan: this process, or a Spark job with the same function. What comes back is judged here."""

import tempfile
import time
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

from controlplane.cli.state_options import Engine
from planner.drain.certified import CertifiedPlan, PlanRefused, certified
from planner.drain.judge import PlanJudgement, judge
from planner.drain.model.plan import Schedule
from planner.drain.model.plan_document import with_assumptions
from planner.drain.model.state import ClusterState
from planner.drain.solver import Unsolvable
from planner.drain.solver.volumes import within_volumes


@dataclass(frozen=True, slots=True, eq=False)
class Planned:
    """`refusal` set: not everything can be moved; `plan` is then what can be, if that was asked for."""

    plan: CertifiedPlan | None
    refusal: Unsolvable | None
    engine: Engine
    seconds: float


def planned(
    state: ClusterState,
    assumptions: tuple[str, ...],
    *,
    engine: Engine,
    excluded_topics: Collection[str],
    allow_partial: bool,
) -> Planned:
    """The plan with its certificate, or why there is none. `seconds` is without Spark's start.

    Raises PlanRefused when a plan breaks a rule.
    """
    state = within_volumes(state)
    if engine is Engine.SPARK:
        answer, seconds = _on_spark(state, excluded_topics, allow_partial)
    else:
        began = time.perf_counter()
        answer = certified(state, excluded_topics=excluded_topics, allow_partial=allow_partial)
        seconds = time.perf_counter() - began
    if isinstance(answer, CertifiedPlan):
        plan = replace(answer, schedule=with_assumptions(answer.schedule, assumptions))
        return Planned(plan, None, engine, seconds)
    part = _judged_part(state, answer.part, assumptions)
    return Planned(part, replace(answer, part=part.schedule if part else None), engine, seconds)


def _judged_part(state: ClusterState, part: Schedule | None, assumptions: tuple[str, ...]) -> CertifiedPlan | None:
    """A part leaves replicas behind on purpose; every other rule holds for it too."""
    if part is None:
        return None
    schedule = with_assumptions(part, assumptions)
    verdict: PlanJudgement = judge(state, schedule)
    broken = verdict.replay.violations
    if broken:
        raise PlanRefused(f"the feasible part breaks {len(broken)} rules in its replay, first {broken[0]}")
    return CertifiedPlan(schedule, verdict.measures, verdict, state)


def _on_spark(
    state: ClusterState, excluded_topics: Collection[str], allow_partial: bool
) -> tuple[CertifiedPlan | Unsolvable, float]:
    """A session of its own on this machine, ended before the answer is shown; judged once more in this process."""
    from spark.jobs.state_plan import plan_state
    from spark.session import SparkSettings, build_session, close_session

    with tempfile.TemporaryDirectory(prefix="kedge-plan-") as scratch:
        session = build_session(SparkSettings(Path(scratch), master="local[1]"))
        try:
            began = time.perf_counter()
            answer = plan_state(session, state, excluded_topics=excluded_topics, allow_partial=allow_partial)
            seconds = time.perf_counter() - began
        finally:
            close_session(session)
    if isinstance(answer, Unsolvable):
        return answer, seconds
    verdict = judge(state, answer)
    if verdict.replay.violations:
        raise PlanRefused(f"Spark's plan breaks a rule in its replay here: {verdict.replay.violations[0]}")
    return CertifiedPlan(answer, verdict.measures, verdict, state), seconds
