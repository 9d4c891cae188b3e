"""From plans and problems of a spec to what the API says."""

from controlplane.api.costs import cost_out
from controlplane.api.schemas import specs as spec_api
from controlplane.commands.previews.plan import PlanPreview
from events.spec.problems import Problem
from planner.rollout.steps import RolloutPlan, RolloutStep


def plan_out(plan: PlanPreview) -> spec_api.PlanOut:
    """The plan of one document."""
    return spec_api.PlanOut.like(
        plan,
        changes=[
            spec_api.FieldChangeOut.like(c, field_class=c.field_class.value, effect=plan.effects.get(c.path, ""))
            for c in plan.changes
        ],
        phases=_phases(plan.rollout),
        bytes=plan.rollout.bytes,
        seconds=plan.rollout.seconds,
        cost=cost_out(plan.cost),
    )


def problem_out(problem: Problem) -> spec_api.ProblemOut:
    """One problem of a spec, at its place."""
    return spec_api.ProblemOut.like(problem)


def _phases(rollout: RolloutPlan) -> list[spec_api.PhaseOut]:
    return [
        spec_api.PhaseOut(name=phase.name, parallel=phase.parallel, steps=[step_out(s) for s in phase.steps])
        for phase in rollout.phases
    ]


def step_out(step: RolloutStep) -> spec_api.StepOut:
    """One step of a roll that is to come."""
    return spec_api.StepOut.like(step)
