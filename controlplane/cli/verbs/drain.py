"""`kedge drain`: plan how brokers are emptied, and judge anybody's plan. Both work on a state file alone."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from controlplane.cli import errors, exits, output, state_options, terminal
from controlplane.cli.session import Session, session_of

if TYPE_CHECKING:
    from controlplane.cli.drain_engine import Planned
    from controlplane.cli.state_inputs import Input

drain = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@drain.callback()
def root() -> None:
    """Plan drains of brokers, and check plans.

    It changes nothing: kedge evacuate empties a broker of a cluster, kedge replace gives it another VM.

    \b
    Examples:
      kedge drain plan --state orders.json --brokers 1001
      kedge drain check --state orders.json --plan plan.json
    """


_Brokers = Annotated[
    str,
    typer.Option("--brokers", metavar="ID,ID", show_default=False, help="Brokers to empty, regardless of the state."),
]
_Destinations = Annotated[
    list[str] | None,
    typer.Option(
        "--destinations",
        metavar="ID=ID,ID",
        show_default=False,
        help="Replicas of the first broker go only to these. Repeatable.",
    ),
]
_AllowPartial = Annotated[
    bool, typer.Option("--allow-partial", help="If not all replicas can be moved, plan those that can.")
]
_Plot = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE", show_default=False, help="Plot the ingress of targets: .svg or .png."),
]


@drain.command()
def plan(
    context: typer.Context,
    state: state_options.StateFileOption = "",
    cluster: state_options.ClusterOption = "",
    brokers: _Brokers = "",
    destinations: _Destinations = None,
    exclude_topics: state_options.ExcludeTopics = "",
    disk_limit: state_options.DiskLimit = None,
    allow_partial: _AllowPartial = False,
    engine: state_options.EngineOption = state_options.Engine.INLINE,
    output_file: state_options.PlanFileOption = None,
    kafka_json: state_options.KafkaJsonOption = None,
    throttles: state_options.ThrottlesOption = None,
    plot: _Plot = None,
    shape: state_options.ShapeOption = state_options.PlanFormat.TABLE,
) -> None:
    """Plan a drain of brokers, with a plan certificate.

    Nothing is changed on any cluster. Each figure of the plan is shown beside its lower bound, and was reached in a
    replay by code that shares nothing with the planner. docs/drain-plans.md explains how to read and apply it.

    Exit codes: 0 planned (with --allow-partial also in part), 1 there is no plan or the state is refused.

    \b
    Examples:
      kedge drain plan --state orders.json --brokers 1001,1002
      kedge drain plan --cluster orders --brokers 1001 --plot drain.svg
      kedge drain plan --state orders.json --brokers 1001 --destinations 1001=2001 --output plan.json
      kedge drain plan --state orders.json --brokers 1001 --kafka-json move.json --throttles throttles.sh
      kedge drain plan --state orders.json -o json | jq .certificate.makespan_s.ratio
    """
    from controlplane.cli.drain_plot import check_plot_path
    from controlplane.cli.drain_run import DrainOrder, run
    from controlplane.cli.state_inputs import broker_ids, drained, kept_up_with, known_topics, limited, sent_to

    session = session_of(context)
    if plot is not None:
        check_plot_path(plot)
    given = _input(session, state, cluster, shape)
    given = limited(drained(given, broker_ids(brokers) if brokers else ()), disk_limit)
    given = kept_up_with(sent_to(given, destinations or ()))
    order = DrainOrder(
        excluded_topics=known_topics(given, state_options.names_in(exclude_topics)),
        allow_partial=allow_partial,
        engine=engine,
        plan_file=output_file,
        kafka_json=kafka_json,
        throttles=throttles,
        plot=plot,
    )
    planned, files = run(session, given, order)
    _show(session, given, planned, files, shape)
    _end(session, given, planned)


@drain.command()
def check(
    context: typer.Context,
    plan_file: Annotated[
        str,
        typer.Option("--plan", metavar="FILE", show_default=False, help="A plan file or Kafka's reassignment JSON."),
    ],
    state: state_options.StateFileOption = "",
    cluster: state_options.ClusterOption = "",
    brokers: Annotated[
        str,
        typer.Option(
            "--brokers",
            metavar="ID,ID",
            show_default=False,
            help="Brokers that were to be emptied, if the state does not say.",
        ),
    ] = "",
    disk_limit: state_options.DiskLimit = None,
    shape: state_options.ShapeOption = state_options.PlanFormat.TABLE,
) -> None:
    """Check a plan, of Kedge or another tool, by an independent replay.

    The plan is run against the state to the second, and every rule is checked at every instant. The JSON of
    kafka-reassign-partitions.sh is a plan that starts everything at once, read from the leaders of now.

    Exit codes: 0 it keeps every rule, 1 it breaks one, leaves replicas behind, or cannot be read.

    \b
    Examples:
      kedge drain check --state orders.json --plan plan.json
      kedge drain check --state orders.json --brokers 1001 --plan reassignment.json -o json
    """
    from controlplane.cli.drain_check import judged
    from controlplane.cli.drain_check_view import check_document, check_lines
    from controlplane.cli.state_inputs import broker_ids, drained, kept_up_with, limited

    session = session_of(context)
    given = _input(session, state, cluster, shape, kind="DrainCheck")
    if brokers:
        given = drained(given, broker_ids(brokers))
    given = kept_up_with(limited(given, disk_limit))
    found = judged(session, given, plan_file, shape)
    if shape in (state_options.PlanFormat.TABLE, state_options.PlanFormat.WIDE):
        session.show(*check_lines(given, found, wide=shape is state_options.PlanFormat.WIDE))
    else:
        output.write_document(session, shape, output.document("DrainCheck", check_document(given, found)))
    if not found.verdict.holds:
        raise typer.Exit(exits.FAILED)


def _input(
    session: Session, state: str, cluster: str, shape: state_options.PlanFormat, kind: str = "DrainPlan"
) -> "Input":
    from controlplane.cli.state_inputs import refusals_as_documents, state_input

    complete = f"kedge state export --cluster {cluster} --bandwidth RATE --output FILE, and --state FILE here"
    with refusals_as_documents(
        session, shape, kind=kind, where=state or cluster, next_step=complete if cluster else ""
    ):
        return state_input(session, file=state, cluster=cluster)


def _show(
    session: Session, given: "Input", planned: "Planned", files: dict[str, str], shape: state_options.PlanFormat
) -> None:
    from controlplane.cli.drain_view import plan_document, plan_lines

    if shape in (state_options.PlanFormat.JSON, state_options.PlanFormat.YAML):
        output.write_document(
            session, shape, output.document("DrainPlan", plan_document(given.state, planned, given.name, files))
        )
        return
    blocks = terminal.takes_blocks(session.out, is_terminal=session.around.stdout_is_terminal)
    session.show(
        *plan_lines(given.state, planned, given.name, wide=shape is state_options.PlanFormat.WIDE, blocks=blocks)
    )


def _end(session: Session, given: "Input", planned: "Planned") -> None:
    """What could not be planned, in words, and the exit code."""
    from controlplane.cli.drain_view import next_words, refusal_words

    if planned.refusal is None:
        return
    why, what_helps = refusal_words(given.state, planned.refusal), next_words(given.state, planned.refusal)
    if planned.plan is None:
        again = "; or what can be moved: --allow-partial" if planned.refusal.movable else ""
        raise errors.CliError("there is no plan", why=why, next_step=f"{what_helps}{again}")
    session.tell(f"in part only: {why}", "yellow")
    session.tell(f"for the rest: {what_helps}", "yellow")
