"""Verbs of anomalies: what was found wrong, what is healed by itself, and who is told."""

from collections.abc import Iterable
from typing import Annotated, Any

import typer
from pydantic import BaseModel

from controlplane.api.schemas import anomalies as anomaly_api
from controlplane.cli.anomalies_view import anomaly_lines, healing_table, notifier_table, open_table
from controlplane.cli.completion import cluster_names
from controlplane.cli.errors import CliError
from controlplane.cli.moments import moment_of
from controlplane.cli.options import Cluster, Output, Reason
from controlplane.cli.output import Format, document, show_or_write, write_document
from controlplane.cli.session import Session, session_of

healing = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
notifiers = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

_AnyCluster = Annotated[
    str,
    typer.Argument(
        metavar="[CLUSTER]",
        help="Name of the cluster; all of them without.",
        autocompletion=cluster_names,
        show_default=False,
    ),
]
_Kind = Annotated[
    str, typer.Option("--kind", metavar="KIND", show_default=False, help="Kind of anomaly; all of them without.")
]
_For = Annotated[
    str,
    typer.Option(
        "--for", metavar="WHEN", show_default=False, help="A duration or an ISO time; then the spec counts again."
    ),
]
_Notifier = Annotated[str, typer.Argument(metavar="NAME", show_default=False, help="Name of the notifier.")]


def anomalies(
    context: typer.Context,
    cluster: _AnyCluster = "",
    kind: _Kind = "",
    history: Annotated[bool, typer.Option("--all", help="Include ended ones.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="Maximum number.")] = 100,
    output: Output = Format.TEXT,
) -> None:
    """Show anomalies and what is done about them.

    Kinds: goal-violation, broker-failure, slow-broker, hot-broker, disk-failure, topic-anomaly, maintenance-event.
    States: found (within its grace), suppressed (Kedge's own doing), healing, waiting, over. Notifications are sent
    for healing and waiting, and for their end.

    \b
    Examples:
      kedge anomalies                           # open ones of all clusters
      kedge anomalies orders --all
      kedge anomalies orders --kind slow-broker -o json
    """
    session = session_of(context)
    now = session.around.utc_now()
    if not cluster:
        if history or kind:
            raise CliError("no cluster was named", why="--all and --kind are of one cluster", next_step="kedge get")
        every = session.client.anomalies_everywhere()
        if output is not Format.TEXT:
            write_document(session, output, document("AnomalyList", {"items": _plain(every)}))
        elif every:
            session.show(open_table(every, now=now))
        else:
            session.tell("nothing is wrong, as far as is known")
        return
    found = session.client.anomalies(cluster, kind=kind, state="" if history else "open", limit=limit)
    if output is not Format.TEXT:
        write_document(session, output, document("Anomalies", found))
        return
    session.show(*anomaly_lines(found, now=now))
    if not found.anomalies:
        other = f"; {found.found} in total: --all" if found.found and not history else ""
        session.tell(f"nothing is wrong with {cluster}, as far as is known{other}")
    elif found.total > len(found.anomalies):
        session.tell(f"{found.total} in all; more: --limit {min(1000, found.total)}")


@healing.callback()
def healing_root() -> None:
    """Switch self-healing by kind of anomaly, cluster and time.

    \b
    Examples:
      kedge healing show orders
      kedge healing off orders --kind slow-broker --for 2h --reason "load test"
      kedge healing on orders
    """


@healing.command("show")
def show(context: typer.Context, cluster: Cluster, output: Output = Format.TEXT) -> None:
    """Show which anomalies are healed, and after which grace.

    \b
    Examples:
      kedge healing show orders
    """
    session = session_of(context)
    found = session.client.anomalies(cluster, state="open", limit=1)
    show_or_write(
        session,
        output,
        document("Healing", {"cluster": cluster, "items": _plain(found.healing)}),
        healing_table(found.healing),
    )


@healing.command("off")
def off(
    context: typer.Context,
    cluster: Cluster,
    kind: _Kind = "",
    until: _For = "",
    reason: Reason = "",
    output: Output = Format.TEXT,
) -> None:
    """Report anomalies without healing them.

    It is recorded with who and why, and shown by `kedge describe`.

    \b
    Examples:
      kedge healing off orders --kind slow-broker --for 2h
      kedge healing off orders --reason "we look at it ourselves"
    """
    _switch(session_of(context), cluster, kind, until, reason, output, on=False)


@healing.command("on")
def on(
    context: typer.Context,
    cluster: Cluster,
    kind: _Kind = "",
    until: _For = "",
    reason: Reason = "",
    output: Output = Format.TEXT,
) -> None:
    """Heal anomalies again.

    \b
    Examples:
      kedge healing on orders --kind slow-broker
      kedge healing on orders
    """
    _switch(session_of(context), cluster, kind, until, reason, output, on=True)


@notifiers.callback()
def notifiers_root() -> None:
    """Show and test the notifiers of anomalies.

    \b
    Examples:
      kedge notifiers list
      kedge notifiers test oncall
    """


@notifiers.command("list")
def list_notifiers(context: typer.Context, output: Output = Format.TEXT) -> None:
    """Show the notifiers of the settings and their state.

    \b
    Examples:
      kedge notifiers list
      kedge notifiers list -o json | jq -r '.items[] | select(.error != "") | .name'
    """
    session = session_of(context)
    found = session.client.notifiers()
    if output is not Format.TEXT:
        write_document(session, output, document("NotifierList", {"items": _plain(found)}))
    elif found:
        session.show(notifier_table(found, now=session.around.utc_now()))
    else:
        session.tell("no notifier is set: docs/anomalies.md says how")


@notifiers.command("test")
def try_notifier(context: typer.Context, name: _Notifier, output: Output = Format.TEXT) -> None:
    """Send a test notice to a notifier.

    It is sent at once, before waiting notices. Exits with 1 if it is not delivered.

    \b
    Examples:
      kedge notifiers test oncall
    """
    session = session_of(context)
    tested = session.client.test_notifier(name)
    if output is not Format.TEXT:
        write_document(session, output, document("NotifierTest", tested))
    elif tested.told:
        session.show(tested.sentence)
    if not tested.told:
        raise CliError(f"{name} was not told", why=tested.sentence, next_step="kedge notifiers list")


def _switch(session: Session, cluster: str, kind: str, until: str, reason: str, output: Format, *, on: bool) -> None:
    then = moment_of(until, now=session.around.utc_now(), option="--for") if until else None
    order = anomaly_api.HealingIn(on=on, kind=kind, until=then, reason=reason)
    answer = session.client.switch_healing(cluster, order)
    show_or_write(session, output, document("Command", answer), answer.sentence)


def _plain(found: Iterable[BaseModel]) -> list[dict[str, Any]]:
    return [one.model_dump(mode="json") for one in found]
