"""Plan and proof in one: solve, let the independent judge replay the plan, hand out nothing that breaks a rule."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from planner.drain.judge import PlanJudgement, judge
from planner.drain.model.measures import Measures
from planner.drain.model.plan import Schedule
from planner.drain.model.state import ClusterState, Floats
from planner.drain.replay import PlanRule, Replay
from planner.drain.solver import Unsolvable, solve
from planner.drain.solver.volumes import within_volumes


@dataclass(frozen=True, slots=True, eq=False)
class CertifiedPlan:
    """A schedule that survived its replay. `measures`: every value beside its bound. `verdict`: the whole replay.
    `state`: what it is a plan for, with bandwidths that its volumes keep up with.
    """

    schedule: Schedule
    measures: Measures
    verdict: PlanJudgement
    state: ClusterState


class PlanRefused(RuntimeError):
    """The solver's own plan breaks a hard rule in the replay: a defect, never to be executed."""


def certified(
    state: ClusterState,
    *,
    excluded_topics: Collection[str] = (),
    pinned: Collection[int] = (),
    allow_partial: bool = False,
    writing: Floats | None = None,
) -> CertifiedPlan | Unsolvable:
    """Solve and judge. `writing`: how volumes are shared, where that is settled (`within_volumes`). Raises PlanRefused
    when the judge finds a violation (leftovers are one unless excluded).
    """
    options: dict[str, Any] = {
        "excluded_topics": excluded_topics,
        "pinned": pinned,
        "allow_partial": allow_partial,
    }
    state = within_volumes(state.within_sets(), writing)
    answer = solve(state, **options)
    if isinstance(answer, Unsolvable):
        return answer
    verdict = judge(state, answer)
    if gathers_leaders(verdict.replay):
        calmer = solve(state, **options, leaders_stay=True)
        if not isinstance(calmer, Unsolvable):
            answer, verdict = calmer, judge(state, calmer)
    broken = verdict.replay.violations
    left_out = bool(excluded_topics) or bool(pinned)
    if broken or (verdict.replay.left_behind and not left_out):
        first = f"{broken[0].rule}: {broken[0].subject}: {broken[0].detail}" if broken else "replicas left behind"
        raise PlanRefused(f"the plan breaks {len(broken)} rules in its replay, first {first}; please report the state")
    return CertifiedPlan(answer, verdict.measures, verdict, state)


def gathers_leaders(run: Replay) -> bool:
    """Whether the only fault is that too much leadership gathers on sources: then they are better left where it is."""
    return bool(run.violations) and all(v.rule is PlanRule.LEADERS for v in run.violations)
