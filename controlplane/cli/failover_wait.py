"""Following a failover until it is over: each step as it comes, then whether the standby is the primary. It outlives a
server that is restarted meanwhile."""

from typing import Final

import typer

from controlplane.api.schemas.failovers import FailoverOut
from controlplane.cli import exits
from controlplane.cli.errors import CliError, Unreachable
from controlplane.cli.session import Session
from controlplane.runtime.quantities import human_seconds

POLL_S: Final = 1.0


def follow_failover(session: Session, name: str, order: str, *, timeout_s: float, is_text: bool) -> None:
    """Steps go to stderr, each once; that it is over to stdout if `is_text`. `timeout_s` 0 waits for ever.

    Raises CliError where it was aborted, cannot go on, or time is up, and typer.Exit where a person detaches.
    """
    around = session.around
    began = around.monotonic()
    told: set[str] = set()
    try:
        while (found := _looked(session, name, told)) is None or found.order == order:
            if found is not None:
                _refuse_stuck(found)
                _tell_once(session, f"{found.state}: {found.next}", told)
            elapsed_s = around.monotonic() - began
            if 0 < timeout_s <= elapsed_s:
                raise _timed_out(name, elapsed_s, found)
            around.sleep(min(POLL_S, timeout_s - elapsed_s) if timeout_s > 0 else POLL_S)
    except KeyboardInterrupt:
        session.tell(f"\ndetached; the server goes on. To see how far it is: kedge failovers show {name}")
        raise typer.Exit(exits.INTERRUPTED) from None
    _refuse_not_promoted(found, order)
    if is_text:
        session.show(f"{name}: {found.primary} is the primary (after {human_seconds(around.monotonic() - began)})")


def _looked(session: Session, name: str, told: set[str]) -> FailoverOut | None:
    """None where nobody answers. Raises Unreachable where nobody ever did."""
    try:
        return session.client.failover(name)
    except Unreachable as error:
        if not told:
            raise
        _tell_once(session, f"{error.what} ({error.why}); waiting for it to come back", told)
        return None


def _tell_once(session: Session, line: str, told: set[str]) -> None:
    if line not in told:
        session.tell(line)
    told.add(line)


def _refuse_stuck(found: FailoverOut) -> None:
    if found.state == "Unreadable":
        what, then = f"waiting does not help {found.name}", f"kedge failovers show {found.name}"
        raise CliError(what, why=found.sentence, next_step=then, exit_code=exits.BLOCKED)


def _refuse_not_promoted(found: FailoverOut, order: str) -> None:
    then = f"kedge failovers show {found.name}"
    if found.last_order != order:
        raise CliError(f"the failover {order} of {found.name} is over, and another has come since", next_step=then)
    if not found.last_promoted:
        why = f"all is led back to {found.primary}"
        raise CliError(f"the failover of {found.name} was aborted", why=why, next_step=then)


def _timed_out(name: str, elapsed_s: float, found: FailoverOut | None) -> CliError:
    why = f"{found.state}: {found.next}" if found is not None else "the server does not answer"
    then = f"kedge failovers show {name}, or kedge failovers abort {name}"
    what = f"the failover of {name} is not over after {human_seconds(elapsed_s)}; the server goes on"
    return CliError(what, why=why, next_step=then, exit_code=exits.TIMED_OUT)
