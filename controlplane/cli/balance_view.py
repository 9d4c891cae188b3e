"""A plan that balances, as people and machines read it: every goal before and after, and what it costs."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import RenderableType

from controlplane.cli import balance_run, drain_brokers, drain_view, moves_view, state_inputs, tables
from controlplane.commands.previews.drain_figures import broker_rows, goal_rows
from controlplane.runtime.quantities import human_seconds
from controlplane.runtime.styled_text import styled
from events.quantities import counted
from planner.balance.answer import GoalReport
from planner.quantities import human_bytes

_MOST_LEFT = 5


def balance_lines(given: state_inputs.Input, plan: balance_run.BalancePlan, *, wide: bool) -> Iterator[RenderableType]:
    """The whole answer for a person."""
    balanced = plan.balanced
    yield styled(_headline(given, plan), "bold")
    yield f"{_cost(plan)}; {counted(balanced.leader_changes, 'change')} of leader"
    if balanced.goals:
        yield ""
        yield _goal_table(balanced.goals)
    yield from _left(given, plan)
    yield from moves_view.assumption_lines(balanced.schedule.assumptions)
    if len(balanced.schedule):
        yield ""
        yield drain_brokers.broker_table(broker_rows(given.state, balanced.schedule, plan.replay), wide=wide)


def balance_document(
    given: state_inputs.Input, plan: balance_run.BalancePlan, files: Mapping[str, str], *, shown: bool
) -> Mapping[str, Any]:
    """The same for machines. Without `shown` only why there is no plan."""
    content: dict[str, Any] = {"of": given.name, "outcome": "planned"}
    if plan.shortfall is not None:
        missing = plan.shortfall.missing
        content["outcome"] = "partial" if shown else "infeasible"
        content["reason"] = {
            "kind": missing.kind,
            "message": plan.shortfall.message,
            "missing": {"amount": drain_view.finite(missing.amount), "what": missing.what},
            "stuck": [_name(given, row) for row in plan.shortfall.stuck],
        }
    if shown:
        balanced = plan.balanced
        content |= {
            "eta_s": drain_view.finite(plan.replay.makespan_s),
            "entries": len(balanced.schedule),
            "bytes_moved": balanced.bytes_moved,
            "bytes_bound": drain_view.finite(balanced.bytes_bound),
            "leader_changes": balanced.leader_changes,
            "goals": [_goal_document(goal) for goal in balanced.goals],
            "left": [{**_name(given, row), "why": why} for row, why in balanced.left],
            "assumptions": list(balanced.schedule.assumptions),
            "brokers": [drain_brokers.plain(row) for row in broker_rows(given.state, balanced.schedule, plan.replay)],
        }
    return {**content, "files": dict(files)}


def how_to_apply(plan: balance_run.BalancePlan, files: Mapping[str, str]) -> Iterator[str]:
    """Kedge's server does not carry out such plans: it says so and names the tool that does."""
    if not len(plan.balanced.schedule):
        return
    yield "plan only: nothing was changed, and `kedge server` does not carry it out. With Kafka's own tool:"
    if "kafka json" not in files:
        yield "  the same command with --kafka-json move.json"
    names = files.get("kafka json", "move.json").split(", ")
    for name in (n for n in names if ".rollback" not in n):
        yield f"  kafka-reassign-partitions.sh --bootstrap-server HOST:PORT --reassignment-json-file {name} --execute"
    yield "  kafka-leader-election.sh --bootstrap-server HOST:PORT --election-type preferred --all-topic-partitions"


def _headline(given: state_inputs.Input, plan: balance_run.BalancePlan) -> str:
    if not len(plan.balanced.schedule):
        return f"{given.name}: nothing to do"
    return f"{given.name}: {counted(len(plan.balanced.schedule), 'partition')} change"


def _cost(plan: balance_run.BalancePlan) -> str:
    balanced = plan.balanced
    if not balanced.bytes_moved:
        return "nothing is copied"
    bound = f", no plan copies less than {human_bytes(balanced.bytes_bound)}" if balanced.bytes_bound > 0 else ""
    return f"{human_bytes(balanced.bytes_moved)} to copy{bound}, done in {human_seconds(plan.replay.makespan_s)}"


def _goal_table(goals: tuple[GoalReport, ...]) -> RenderableType:
    headers = ("GOAL", "BEFORE", "AFTER", "BAND", "OUT OF BAND", "NOTE")
    return tables.listing(headers, goal_rows(goals))


def _left(given: state_inputs.Input, plan: balance_run.BalancePlan) -> Iterator[RenderableType]:
    left = plan.balanced.left
    if left:
        yield ""
        yield styled(f"{counted(len(left), 'partition')} left as they are:", "yellow")
    for row, why in left[:_MOST_LEFT]:
        name = _name(given, row)
        yield styled(f"  {name['topic']}-{name['partition']}: {why}")
    if len(left) > _MOST_LEFT:
        yield f"  and {len(left) - _MOST_LEFT} more: -o json has them all"


def _goal_document(goal: GoalReport) -> Mapping[str, Any]:
    sides = {name: getattr(goal, name) for name in ("before", "after", "band")}
    return {
        "goal": str(goal.goal),
        "hard": goal.hard,
        "met": goal.met,
        "out_of_band_before": goal.broken_before,
        "out_of_band_after": goal.broken_after,
        **{name: [drain_view.finite(side.least), drain_view.finite(side.most)] for name, side in sides.items()},
        "why": goal.why,
    }


def _name(given: state_inputs.Input, row: int) -> dict[str, Any]:
    parts = given.state.partitions
    return {"topic": parts.topics[int(parts.topic[row])], "partition": int(parts.partition[row])}
