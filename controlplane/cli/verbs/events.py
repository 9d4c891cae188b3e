"""`events`: the history of a cluster, and what is being added to it."""

from collections.abc import Iterator
from typing import Annotated

import typer

from controlplane.api.schemas.clusters import EventOut
from controlplane.cli import errors, events_view, exits, options
from controlplane.cli.output import Format, document, write_record
from controlplane.cli.session import Session, session_of

PAGE = 500
MAX_TAIL = 1000
LONG_POLL_S = 20.0
RETRY_S = 1.0


def events(
    context: typer.Context,
    cluster: options.Cluster,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Follow new events until Ctrl-C.")] = False,
    after: Annotated[int, typer.Option("--after", metavar="POSITION", min=0, help="Only events after this one.")] = 0,
    last: Annotated[
        int | None,
        typer.Option("--last", min=1, max=MAX_TAIL, metavar="N", show_default="all", help="Begin with the last N."),
    ] = None,
    output: Annotated[
        Format, typer.Option("-o", "--output", help="Output format; json is one object per line.")
    ] = Format.TEXT,
) -> None:
    """Print what happened to a cluster, oldest first.

    Declarations, decisions, outcomes, and conditions that changed.

    When following, a server that restarts is waited for. Ctrl-C prints the position to go on from.

    \b
    Examples:
      kedge events orders --last 20
      kedge events orders -f
      kedge events orders -o json | jq 'select(.type == "drain.planned")'
    """
    session = session_of(context)
    reader = _EventReader(session, cluster, after)
    for event in reader.recorded() if last is None else reader.newest(last):
        _write(session, event, output)
    if not follow:
        return
    try:
        for event in reader.coming():
            _write(session, event, output)
    except KeyboardInterrupt:
        session.tell(f"\nto go on: kedge events {cluster} -f --after {reader.position}")
        raise typer.Exit(exits.INTERRUPTED) from None


class _EventReader:
    """Reads on from a position. `position` is that of the last event handed out, or where it began."""

    def __init__(self, session: Session, cluster: str, after: int) -> None:
        self._session = session
        self._cluster = cluster
        self.position = after

    def recorded(self) -> Iterator[EventOut]:
        """What is there."""
        while page := self._page():
            yield from page
            if len(page) < PAGE:
                return

    def newest(self, count: int) -> list[EventOut]:
        """The last of what is there."""
        return self._page(tail=count)

    def coming(self) -> Iterator[EventOut]:
        """What is added, for ever."""
        around = self._session.around
        silent = False
        while True:
            asked_at_s = around.monotonic()
            try:
                page = self._page(wait_s=LONG_POLL_S)
                yield from page
                silent = False
                if not page and around.monotonic() - asked_at_s < RETRY_S:
                    # A server that is stopping sends everybody away at once.
                    around.sleep(RETRY_S)
            except errors.Unreachable as error:
                if not silent:
                    self._session.tell(f"{error.what} ({error.why}); waiting for it to come back")
                silent = True
                around.sleep(RETRY_S)

    def _page(self, *, wait_s: float = 0, tail: int = 0) -> list[EventOut]:
        answer = self._session.client.events(self._cluster, after=self.position, limit=PAGE, tail=tail, wait_s=wait_s)
        if answer.events:
            self.position = answer.events[-1].position
        return answer.events


def _write(session: Session, event: EventOut, output: Format) -> None:
    if output is Format.TEXT:
        session.show(events_view.event_line(event, wide=not session.around.stdout_is_terminal))
    else:
        write_record(session, output, document("Event", event))
