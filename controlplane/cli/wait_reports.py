"""Waiting as it is shown: progress on stderr, then how it ended for each target."""

from collections.abc import Sequence

import typer

from controlplane.cli import exits
from controlplane.cli.output import Format, document, write_document
from controlplane.cli.progress import RollProgress
from controlplane.cli.session import Session
from controlplane.cli.waiter import Result, Target, Waiter
from controlplane.cli.waiting import ConditionIs, Converged, Deleted, Done, Failed, NodeReplaced, Rebalanced
from controlplane.runtime.quantities import human_seconds


def wait_for(
    session: Session, targets: Sequence[Target], *, timeout_s: float, is_text: bool, output: Format = Format.TEXT
) -> None:
    """Waits with progress on stderr. Raises typer.Exit with the code of the worst end, unless all was reached.

    `timeout_s` 0 waits for ever. `is_text` writes a line for each target to stdout; with another `output` documents are
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
        _report(session, result, is_text=is_text, output=output)
    worst = max(result.exit_code for result in results)
    if worst:
        raise typer.Exit(worst)


def _report(session: Session, result: Result, *, is_text: bool, output: Format) -> None:
    after = human_seconds(result.elapsed_s)
    if output is not Format.TEXT:
        write_document(session, output, document("WaitResult", _record(result)))
    match result.outcome:
        case Done(sentence):
            if is_text:
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
