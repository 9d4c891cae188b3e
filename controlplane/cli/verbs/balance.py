"""`kedge rebalance` and `kedge brokers demote`: asked of the server, or only planned and printed."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from controlplane.cli import completion, errors, options, output, rebalance_order, state_options
from controlplane.cli.session import Session, session_of

if TYPE_CHECKING:
    from controlplane.cli.balance_run import BalancePlan
    from controlplane.cli.state_inputs import Input

brokers = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@brokers.callback()
def root() -> None:
    """Plan changes of single brokers.

    \b
    Examples:
      kedge brokers demote 1001 --state orders.json
    """


_Name = Annotated[
    str,
    typer.Argument(
        metavar="CLUSTER",
        autocompletion=completion.cluster_names,
        show_default=False,
        help="The cluster to rebalance. Without it, with --state or --cluster, a plan is made and printed only.",
    ),
]
_Cancel = Annotated[
    bool, typer.Option("--cancel", help="Begin no further batch of the current rebalance; running moves finish.")
]
_Onto = Annotated[
    list[int] | None,
    typer.Option(
        "--onto",
        metavar="ID",
        show_default=False,
        help="Only these receive; the others only send. Repeatable; without it every broker may do both.",
    ),
]
_PerDayGib = Annotated[
    int | None,
    typer.Option("--per-day-gib", metavar="GIB", min=1, show_default=False, help="Most to begin in 24 hours."),
]
_Goals = Annotated[
    str,
    typer.Option(
        "--goals",
        metavar="GOAL[=T],...",
        show_default="all, Cruise Control's",
        help="Only these, first to last; T is the tolerance, `!` behind it makes it hard.",
    ),
]
_ExcludeBrokers = Annotated[
    list[int] | None,
    typer.Option(
        "--exclude-brokers",
        metavar="ID",
        show_default=False,
        help="Nothing moves to these; some may move off them. Repeatable.",
    ),
]
_AllowPartial = Annotated[
    bool, typer.Option("--allow-partial", help="If a hard goal cannot be met, plan the closest result.")
]


def rebalance(
    context: typer.Context,
    name: _Name = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Plan and print only, as --cluster does.")] = False,
    cancel: _Cancel = False,
    wait: Annotated[bool, typer.Option("--wait", help="Watch until it is over.")] = False,
    timeout: options.Timeout = options.DEFAULT_TIMEOUT,
    onto: _Onto = None,
    per_day_gib: _PerDayGib = None,
    throttle: options.Throttle = 0,
    reason: options.Reason = "",
    yes: options.Yes = False,
    state: state_options.StateFileOption = "",
    cluster: state_options.ClusterOption = "",
    goals: _Goals = "",
    exclude_topics: state_options.ExcludeTopics = "",
    exclude_brokers: _ExcludeBrokers = None,
    disk_limit: state_options.DiskLimit = None,
    allow_partial: _AllowPartial = False,
    output_file: state_options.PlanFileOption = None,
    kafka_json: state_options.KafkaJsonOption = None,
    throttles: state_options.ThrottlesOption = None,
    shape: state_options.ShapeOption = state_options.PlanFormat.TABLE,
) -> None:
    """Spread replicas and leaders evenly, for the fewest bytes.

    With CLUSTER the server does it in small throttled batches, behind rolls, repairs, restarts and evacuations
    (docs/rebalancing.md). The moves are shown first, and a confirmation holds for the brokers and replica lists of
    the plan. Without --goals, --exclude-topics and --exclude-brokers the server takes those of the spec (balance).

    With --dry-run, --state or --cluster a plan is made and printed here, and nothing is changed on any cluster.
    Goals are met within their tolerances; hard goals are never traded for others (docs/goals.md).

    Exit codes: 0 asked for or planned (or nothing to do), 1 not confirmed, a hard goal cannot be met, or it or the
    state is refused; with --wait as of kedge wait.

    \b
    Examples:
      kedge rebalance orders --per-day-gib 500 --throttle-mib-per-s 20 --reason "new disks"
      kedge rebalance orders --goals racks,leaders,nic-in --exclude-topics audit --exclude-brokers 1002
      kedge rebalance orders --dry-run
      kedge rebalance orders --cancel
      kedge rebalance --state orders.json --goals 'racks!,disk=1.05,leaders'
      kedge rebalance --cluster orders --kafka-json move.json --throttles throttles.sh
    """
    from controlplane.cli.balance_run import BrokersChosen, goals_in, rebalanced

    session = session_of(context)
    if name and not dry_run:
        planned = (state, cluster, output_file, kafka_json, throttles, allow_partial)
        rebalance_order.refuse_plan_options(name, any(planned) or disk_limit is not None)
        choice = rebalance_order.choice_of(goals, exclude_topics, exclude_brokers)
        order = rebalance_order.RebalanceOrder(cancel, reason, tuple(onto or ()), per_day_gib, throttle, *choice)
        rebalance_order.order_rebalance(session, name, order, yes=yes, wait=wait, timeout=timeout)
        return
    rebalance_order.refuse_order_options(bool(cancel or wait or yes or per_day_gib or throttle or reason))
    aims, given = goals_in(goals), _input(session, state, cluster or name, shape, "RebalancePlan", disk_limit)
    brokers = BrokersChosen(tuple(onto or ()), tuple(exclude_brokers or ()))
    plan = rebalanced(given, aims, excluded_topics=_excluded(given, exclude_topics), brokers=brokers)
    _finish(session, given, plan, (output_file, kafka_json, throttles), shape, allow_partial=allow_partial)


@brokers.command()
def demote(
    context: typer.Context,
    ids: Annotated[
        str, typer.Argument(metavar="ID,ID", show_default=False, help="Brokers that should lead no partition.")
    ],
    state: state_options.StateFileOption = "",
    cluster: state_options.ClusterOption = "",
    output_file: state_options.PlanFileOption = None,
    kafka_json: state_options.KafkaJsonOption = None,
    shape: state_options.ShapeOption = state_options.PlanFormat.TABLE,
) -> None:
    """Plan to move all leadership off brokers.

    A plan only, as `kedge rebalance --dry-run`. Only the order of replica lists changes, so no byte is copied; after
    it a preferred election has to run.

    Exit codes: 0 planned, also when something has to stay (it is named), 1 the state is refused.

    \b
    Examples:
      kedge brokers demote 1001,1002 --state orders.json --kafka-json demote.json
    """
    from controlplane.cli.balance_run import demoted
    from controlplane.cli.state_inputs import broker_ids

    session = session_of(context)
    wanted = broker_ids(ids)
    given = _input(session, state, cluster, shape, "DemotePlan")
    plan = demoted(given, wanted)
    _finish(session, given, plan, (output_file, kafka_json, None), shape, kind="DemotePlan", allow_partial=True)


def _input(
    session: Session,
    state: str,
    cluster: str,
    shape: state_options.PlanFormat,
    kind: str,
    disk_limit: float | None = None,
) -> "Input":
    from controlplane.cli.state_inputs import limited, refusals_as_documents, state_input

    with refusals_as_documents(session, shape, kind=kind, where=state or cluster):
        given = state_input(session, file=state, cluster=cluster)
    return limited(given, disk_limit)


def _excluded(given: "Input", topics: str) -> tuple[str, ...]:
    from controlplane.cli.state_inputs import known_topics

    return known_topics(given, state_options.names_in(topics))


def _finish(
    session: Session,
    given: "Input",
    plan: "BalancePlan",
    paths: tuple[Path | None, Path | None, Path | None],
    shape: state_options.PlanFormat,
    *,
    kind: str = "RebalancePlan",
    allow_partial: bool,
) -> None:
    from controlplane.cli.balance_run import Files
    from controlplane.cli.balance_view import balance_document, balance_lines, how_to_apply

    refused = plan.shortfall is not None and not allow_partial
    written = {} if refused else Files(*paths).write(session, given, plan)
    if shape in (state_options.PlanFormat.JSON, state_options.PlanFormat.YAML):
        content = balance_document(given, plan, written, shown=not refused)
        output.write_document(session, shape, output.document(kind, content))
    elif not refused:
        session.show(*balance_lines(given, plan, wide=shape is state_options.PlanFormat.WIDE))
    if plan.shortfall is not None:
        if refused:
            next_step = "add that, or plan what comes nearest: --allow-partial"
            raise errors.CliError("there is no plan", why=plan.shortfall.message, next_step=next_step)
        session.tell(f"in part only: {plan.shortfall.message}", "yellow")
    for line in how_to_apply(plan, written):
        session.tell(line)
