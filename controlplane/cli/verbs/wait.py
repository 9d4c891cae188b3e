"""`wait`: until a goal is reached, cannot be reached, or time is up; three ends, three exit codes."""

from collections.abc import Sequence
from typing import Annotated

import typer

from controlplane.cli import exits
from controlplane.cli.errors import CliError, UnknownCluster
from controlplane.cli.moments import seconds_of
from controlplane.cli.options import DEFAULT_TIMEOUT, Cluster, Output, Timeout
from controlplane.cli.output import Format, document, write_document
from controlplane.cli.progress import RollProgress
from controlplane.cli.session import Session, session_of
from controlplane.cli.waiter import Result, Target, Waiter
from controlplane.cli.waiting import ConditionIs, Converged, Deleted, Done, Failed, Goal, NodeReplaced, Rebalanced
from controlplane.runtime.quantities import human_seconds

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
    wait_for(session, [target], timeout_s=timeout_s, told=output is Format.TEXT, output=output)


def wait_for(
    session: Session, targets: Sequence[Target], *, timeout_s: float, told: bool, output: Format = Format.TEXT
) -> None:
    """Waits with progress on stderr. Raises typer.Exit with the code of the worst end, unless all was reached.

    `timeout_s` 0 waits for ever. `told` writes a line for each target to stdout; with another `output` documents are
    written instead.
    """
    around = session.around
    progress = RollProgress(session.err, animated=session.can_animate, monotonic=around.monotonic)
    waiter = Waiter(session.client.cluster, progress, monotonic=around.monotonic, sleep=around.sleep)
    try:
        with progress:
            results = waiter.wait(targets, timeout_s=timeout_s)
    except KeyboardInterrupt:
        session.tell("\ndetached; the server goes on. To watch again:")
        for target in targets:
            session.tell(f"  {_command(target)}")
        raise typer.Exit(exits.INTERRUPTED) from None
    for result in results:
        _report(session, result, told=told, output=output)
    worst = max(result.exit_code for result in results)
    if worst:
        raise typer.Exit(worst)


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


def _report(session: Session, result: Result, *, told: bool, output: Format) -> None:
    after = human_seconds(result.elapsed_s)
    if output is not Format.TEXT:
        write_document(session, output, document("WaitResult", _record(result)))
    match result.outcome:
        case Done(sentence):
            if told:
                session.show(f"{sentence} (after {after})")
        case Failed(reason, message, next_command):
            session.tell(f"error: waiting does not help {result.target.name}: {reason}", "bold red")
            session.tell(f"  why:   {message}")
            session.tell(f"  next:  {next_command}")
        case pending:
            session.tell(f"error: {result.target.name}: not {result.target.goal} after {after}", "bold red")
            session.tell(f"  why:   {pending.sentence}")
            session.tell(f"  next:  {_command(result.target)}")


def _record(result: Result) -> dict[str, object]:
    names = {Done: "reached", Failed: "needs-a-person"}
    outcome = result.outcome
    return {
        "cluster": result.target.name,
        "goal": str(result.target.goal),
        "outcome": names.get(type(outcome), "timed-out"),
        "reason": outcome.reason if isinstance(outcome, Failed) else "",
        "message": outcome.message if isinstance(outcome, Failed) else outcome.sentence,
        "next": outcome.next_command if isinstance(outcome, Failed) else "",
        "elapsed_s": round(result.elapsed_s, 1),
    }


def _command(target: Target) -> str:
    match target.goal:
        case Converged(generation=generation):
            return f"kedge wait {target.name} --for=converged --generation {generation}"
        case ConditionIs(type=kind, status=status):
            return f"kedge wait {target.name} --for=condition={kind}" + ("" if status else "=false")
        case NodeReplaced():
            return f"kedge wait {target.name} --for=converged"
        case Rebalanced():
            return f"kedge wait {target.name} --for=rebalanced"
        case Deleted():
            return f"kedge wait {target.name} --for=deleted"
