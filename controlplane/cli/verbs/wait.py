"""`wait`: until a goal is reached, cannot be reached, or time is up; three ends, three exit codes."""

from typing import Annotated

import typer

from controlplane.cli import exits
from controlplane.cli.errors import CliError, UnknownCluster
from controlplane.cli.moments import seconds_of
from controlplane.cli.options import DEFAULT_TIMEOUT, Cluster, Output, Timeout
from controlplane.cli.output import Format
from controlplane.cli.session import Session, session_of
from controlplane.cli.wait_reports import wait_for
from controlplane.cli.waiter import Target
from controlplane.cli.waiting import ConditionIs, Converged, Deleted, Goal, Rebalanced

_FORMS = "--for=converged, --for=rebalanced, --for=deleted, --for=condition=TYPE or --for=condition=TYPE=false"


def wait(
    context: typer.Context,
    cluster: Cluster,
    goal: Annotated[
        str,
        typer.Option("--for", metavar="GOAL", help="converged, rebalanced, deleted or condition=TYPE[=false]."),
    ] = "converged",
    generation: Annotated[
        int | None,
        typer.Option(
            "--generation",
            metavar="N",
            min=1,
            show_default="the one declared now",
            help="Generation that must converge.",
        ),
    ] = None,
    timeout: Timeout = DEFAULT_TIMEOUT,
    output: Output = Format.TEXT,
) -> None:
    """Wait until a cluster has reached a goal.

    Stops at once when waiting cannot help, and names what can.

    It is pinned to the generation declared now (or --generation): a newer spec is reported, not mistaken for it. A
    server that restarts meanwhile is waited for. Ctrl-C detaches; nothing on the server is cancelled.

    \b
    Exit codes: 0 reached, 1 failed, 3 --timeout was up, 4 it needs a person, 130 Ctrl-C.

    \b
    Examples:
      kedge wait orders --for=converged --timeout 30m
      kedge wait orders --for=condition=Blocked
      kedge wait orders --for=deleted && echo gone
    """
    session = session_of(context)
    timeout_s = seconds_of(timeout, option="--timeout")
    target = Target(cluster, _goal(session, cluster, goal, generation))
    wait_for(session, [target], timeout_s=timeout_s, is_text=output is Format.TEXT, output=output)


def _goal(session: Session, name: str, text: str, generation: int | None) -> Goal:
    word, _, rest = text.partition("=")
    if word == "deleted" and not rest:
        return Deleted(_uid_if_alive(session, name))
    detail = session.client.cluster(name)
    if (word == "converged" and not rest) or text.lower() in ("condition=converged", "condition=converged=true"):
        return Converged(generation or detail.generation, detail.uid)
    if word == "rebalanced" and not rest:
        return Rebalanced(detail.uid)
    kind, _, status = rest.partition("=")
    if word != "condition" or not kind or status.lower() not in ("", "true", "false"):
        raise CliError(f"`{text}` is nothing to wait for", where="--for", next_step=_FORMS, exit_code=exits.USAGE)
    return ConditionIs(kind, status.lower() != "false", detail.uid)


def _uid_if_alive(session: Session, name: str) -> str:
    """The uid to see gone; of a cluster that is gone already there is none, and that is what was asked for."""
    try:
        return session.client.cluster(name).uid
    except UnknownCluster:
        return ""
