"""One `kedge drain plan`: computes, and writes what was asked for. A plan that breaks a rule leaves no file."""

from dataclasses import dataclass
from pathlib import Path

from controlplane.cli import drain_engine, drain_files, drain_plot, errors, state_inputs, state_options
from controlplane.cli.session import Session
from planner.drain.certified import CertifiedPlan, PlanRefused


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainOrder:
    """What the command line asks for besides the state."""

    excluded_topics: tuple[str, ...]
    allow_partial: bool
    engine: state_options.Engine
    plan_file: Path | None
    kafka_json: Path | None
    throttles: Path | None
    plot: Path | None


def run(session: Session, given: state_inputs.Input, order: DrainOrder) -> tuple[drain_engine.Planned, dict[str, str]]:
    """The answer, and the files written by kind. Raises CliError."""
    try:
        answer = drain_engine.planned(
            given.state,
            given.assumptions,
            engine=order.engine,
            excluded_topics=order.excluded_topics,
            allow_partial=order.allow_partial,
        )
    except PlanRefused as refused:
        next_step = "nothing was written; report it with the state file"
        raise errors.CliError("the plan is refused", why=str(refused), next_step=next_step) from None
    files = _write(given, order, answer.plan) if answer.plan is not None else {}
    for kind, name in files.items():
        session.tell(f"{kind}: {name}")
    return answer, files


def _write(given: state_inputs.Input, order: DrainOrder, plan: CertifiedPlan) -> dict[str, str]:
    files: dict[str, str] = {}
    state, schedule = given.state, plan.schedule
    if order.plan_file is not None:
        drain_files.write_plan(order.plan_file, state, schedule, plan.measures)
        files["plan"] = str(order.plan_file)
    if order.kafka_json is not None:
        written = drain_files.write_kafka_json(order.kafka_json, state, schedule)
        files["kafka json"] = ", ".join(map(str, written))
    if order.throttles is not None:
        drain_files.write_throttles(order.throttles, state, schedule)
        files["throttles"] = str(order.throttles)
    makespan = plan.measures.makespan_s
    title = f"ingress per target: {makespan.ratio:.3f} times the least time there is"
    if order.plot is not None and drain_plot.draw(
        order.plot, state, schedule, makespan_s=makespan.value, bound_s=makespan.bound, title=title
    ):
        files["plot"] = str(order.plot)
    return files
