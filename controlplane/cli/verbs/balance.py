"""`kedge rebalance` and `kedge brokers demote`: planned and printed here, applied with Kafka's own tool."""

from typing import TYPE_CHECKING, Annotated

import typer

from controlplane.cli.errors import CliError
from controlplane.cli.output import document, write_document
from controlplane.cli.session import Session, session_of
from controlplane.cli.state_options import (
    ClusterOption,
    DiskLimit,
    ExcludeTopics,
    KafkaJsonOption,
    PlanFileOption,
    Shape,
    ShapeOption,
    StateFileOption,
    ThrottlesOption,
    names_in,
)

if TYPE_CHECKING:
    from controlplane.cli.balance_run import BalancePlan, Files
    from controlplane.cli.state_inputs import Input

brokers = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@brokers.callback()
def root() -> None:
    """Plan what concerns single brokers.

    \b
    Examples:
      kedge brokers demote 1001 --state orders.json
    """


def rebalance(
    context: typer.Context,
    state: StateFileOption = "",
    cluster: ClusterOption = "",
    goals: Annotated[
        str,
        typer.Option(
            "--goals",
            metavar="GOAL[=T],...",
            show_default="all, Cruise Control's",
            help="Only these, first to last; T is the tolerance, `!` behind it makes it hard.",
        ),
    ] = "",
    exclude_topics: ExcludeTopics = "",
    disk_limit: DiskLimit = None,
    allow_partial: Annotated[
        bool, typer.Option("--allow-partial", help="When a hard goal cannot be met, plan what comes nearest.")
    ] = False,
    output_file: PlanFileOption = None,
    kafka_json: KafkaJsonOption = None,
    throttles: ThrottlesOption = None,
    shape: ShapeOption = Shape.TABLE,
) -> None:
    """Plan a balanced cluster for the fewest bytes.

    A plan only: nothing is changed on any cluster, and `kedge server` does not carry it out. Goals are met within their
    tolerances; hard ones are never given up for others. docs/goals.md has a row for each.

    Exit codes: 0 planned (or nothing to do), 1 a hard goal cannot be met or the state is refused.

    \b
    Examples:
      kedge rebalance --state orders.json
      kedge rebalance --state orders.json --goals 'racks!,disk=1.05,leaders'
      kedge rebalance --cluster orders --kafka-json move.json --throttles throttles.sh
    """
    from controlplane.cli.balance_run import Files, goals_in, rebalanced
    from controlplane.cli.state_inputs import known_topics, limited

    session = session_of(context)
    aims = goals_in(goals)
    given = limited(_input(session, state, cluster, shape, "RebalancePlan"), disk_limit)
    excluded = known_topics(given, names_in(exclude_topics))
    plan = rebalanced(given, aims, excluded_topics=excluded)
    files = Files(plan_file=output_file, kafka_json=kafka_json, throttles=throttles)
    _finish(session, given, plan, files, shape, kind="RebalancePlan", allow_partial=allow_partial)


@brokers.command()
def demote(
    context: typer.Context,
    ids: Annotated[str, typer.Argument(metavar="ID,ID", show_default=False, help="Brokers that are to lead nothing.")],
    state: StateFileOption = "",
    cluster: ClusterOption = "",
    output_file: PlanFileOption = None,
    kafka_json: KafkaJsonOption = None,
    shape: ShapeOption = Shape.TABLE,
) -> None:
    """Plan how brokers lead nothing any more.

    A plan only, as `kedge rebalance`. Only the order of replica lists changes, so no byte is copied; after it a
    preferred election has to run.

    Exit codes: 0 planned, also when something has to stay (it is named), 1 the state is refused.

    \b
    Examples:
      kedge brokers demote 1001,1002 --state orders.json --kafka-json demote.json
    """
    from controlplane.cli.balance_run import Files, demoted
    from controlplane.cli.state_inputs import broker_ids

    session = session_of(context)
    wanted = broker_ids(ids)
    given = _input(session, state, cluster, shape, "DemotePlan")
    plan = demoted(given, wanted)
    files = Files(plan_file=output_file, kafka_json=kafka_json, throttles=None)
    _finish(session, given, plan, files, shape, kind="DemotePlan", allow_partial=True)


def _input(session: Session, state: str, cluster: str, shape: Shape, kind: str) -> "Input":
    from controlplane.cli.state_inputs import state_input, telling_machines

    with telling_machines(session, shape, kind=kind, where=state or cluster):
        return state_input(session, file=state, cluster=cluster)


def _finish(
    session: Session,
    given: "Input",
    plan: "BalancePlan",
    files: "Files",
    shape: Shape,
    *,
    kind: str,
    allow_partial: bool,
) -> None:
    from controlplane.cli.balance_view import balance_document, balance_lines, how_to_apply

    refused = plan.shortfall is not None and not allow_partial
    written = {} if refused else files.write(session, given, plan)
    if shape in (Shape.JSON, Shape.YAML):
        content = balance_document(given, plan, written, shown=not refused)
        write_document(session, shape, document(kind, content))
    elif not refused:
        session.show(*balance_lines(given, plan, wide=shape is Shape.WIDE))
    if plan.shortfall is not None:
        if refused:
            next_step = "add that, or plan what comes nearest: --allow-partial"
            raise CliError("there is no plan", why=plan.shortfall.message, next_step=next_step)
        session.tell(f"in part only: {plan.shortfall.message}", "yellow")
    for line in how_to_apply(plan, written):
        session.tell(line)
