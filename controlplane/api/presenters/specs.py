"""From plans and problems of a spec to what the API says."""

from controlplane.api.costs import cost_out
from controlplane.api.schemas import specs as spec_api
from controlplane.commands.previews.plan import PlanPreview
from events.spec.problems import Problem
from planner.rollout.steps import RolloutPlan, RolloutStep


def plan_out(plan: PlanPreview) -> spec_api.PlanOut:
    """The plan of one document."""
    return spec_api.PlanOut(
        cluster=plan.cluster,
        exists=plan.exists,
        generation=plan.generation,
        changes=[
            spec_api.FieldChangeOut(
                path=c.path,
                old=c.old,
                new=c.new,
                field_class=c.field_class.value,
                effect=plan.effects.get(c.path, ""),
            )
            for c in plan.changes
        ],
        phases=_phases(plan.rollout),
        bytes=plan.rollout.bytes,
        sizes_age_s=plan.sizes_age_s,
        seconds=plan.rollout.seconds,
        warnings=list(plan.warnings),
        digest=plan.digest,
        brake=plan.brake,
        window=plan.window,
        networks=list(plan.networks),
        clients=list(plan.clients),
        moves=list(plan.moves),
        afterwards=list(plan.afterwards),
        preset=list(plan.preset),
        sizes=list(plan.sizes),
        cost=cost_out(plan.cost),
    )


def problem_out(problem: Problem) -> spec_api.ProblemOut:
    """One problem of a spec, at its place."""
    return spec_api.ProblemOut(
        file=problem.file,
        line=problem.line,
        column=problem.column,
        code=problem.code,
        severity=problem.severity,
        message=problem.message,
        fix=problem.fix,
    )


def _phases(rollout: RolloutPlan) -> list[spec_api.PhaseOut]:
    return [
        spec_api.PhaseOut(name=phase.name, parallel=phase.parallel, steps=[step_out(s) for s in phase.steps])
        for phase in rollout.phases
    ]


def step_out(step: RolloutStep) -> spec_api.StepOut:
    """One step of a roll that is to come."""
    return spec_api.StepOut(
        change=step.change,
        node=step.node,
        rack=step.rack,
        service=step.service,
        reason=step.reason,
        how=list(step.how),
        bytes=step.bytes,
        seconds=step.seconds,
    )
