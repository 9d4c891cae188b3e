"""A plan of anybody's, read against a state and judged."""

from dataclasses import dataclass

from controlplane.cli.session import Session
from controlplane.cli.state_inputs import Input, read_bytes, refusals_as_documents
from controlplane.cli.state_options import PlanFormat
from planner.drain.judge import PlanJudgement, judge
from planner.drain.model.measures import Measures
from planner.drain.model.plan import Schedule
from planner.drain.model.plan_document import read_plan


@dataclass(frozen=True, slots=True, eq=False)
class JudgedDrain:
    """`said`: what the plan's own certificate claims, None without one."""

    name: str
    schedule: Schedule
    said: Measures | None
    verdict: PlanJudgement


def judged(session: Session, given: Input, plan_file: str, shape: PlanFormat) -> JudgedDrain:
    """Reads and replays. Raises CliError when the plan cannot be read at all."""
    content = read_bytes(plan_file)
    next_step = "is it the plan for this state? Both must come from the same moment"
    with refusals_as_documents(session, shape, kind="DrainCheck", where=plan_file, next_step=next_step):
        read = read_plan(content, given.state)
    return JudgedDrain(plan_file, read.schedule, read.measures, judge(given.state, read.schedule))
