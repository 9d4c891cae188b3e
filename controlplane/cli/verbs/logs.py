"""`logs`: what the services and agents of a cluster's VMs write, from the topic they send it to."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated

import typer

from controlplane.api.schemas.logs import LogLineOut, LogsOut
from controlplane.cli import errors, exits, logs_view, moments, options
from controlplane.cli.output import Format, document, write_record
from controlplane.cli.session import Session, session_of

FOLLOW_S = 2.0


class LogService(StrEnum):
    """Whose logs there are."""

    ALL = ""
    BROKER = "broker"
    CONTROLLER = "controller"
    ZOOKEEPER = "zookeeper"
    REPLICATOR = "replicator"
    AGENT = "agent"


class Level(StrEnum):
    """How urgent a line is, least first."""

    ALL = ""
    TRACE = "TRACE"
    DEBUG = "DEBUG"
    INFO = "INFO"
    WARN = "WARN"
    ERROR = "ERROR"
    FATAL = "FATAL"


def logs(
    context: typer.Context,
    cluster: options.Cluster,
    node: Annotated[str, typer.Option("--node", metavar="NODE", help="Only this node.", show_default="all")] = "",
    service: Annotated[
        LogService, typer.Option("--service", help="Only this service, or the agents.", show_default="all")
    ] = LogService.ALL,
    level: Annotated[
        Level, typer.Option("--level", case_sensitive=False, help="Minimum level.", show_default="all")
    ] = Level.ALL,
    since: Annotated[
        str, typer.Option("--since", metavar="AGE|TIME", help="How far back: 10m, 2h, or a time.")
    ] = "15m",
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Follow new lines until Ctrl-C.")] = False,
    output: Annotated[
        Format, typer.Option("-o", "--output", help="Output format; json is one object per line.")
    ] = Format.TEXT,
) -> None:
    """Print what the services and agents of a cluster write.

    Lines come from the topic __kedge_logs of the cluster, which agents send them to when the server runs with
    KEDGE_TELEMETRY__LOGS=true. A stack trace is one line of it. After a split lines come late, with the time they
    were written.

    \b
    Examples:
      kedge logs orders --level warn
      kedge logs orders --node brokers-a-0 --service broker --since 2h
      kedge logs orders -f
      kedge logs orders --level error -o json | jq -r .error | sort | uniq -c
    """
    session = session_of(context)
    begin = moments.moment_ago(since, now=session.around.utc_now(), option="--since")
    chosen = {"node": node, "service": service.value, "level": level.value, "since": begin.isoformat()}
    pages = _Pages(session, cluster, chosen, follow=follow)
    try:
        for line in pages:
            _write(session, line, output)
    except KeyboardInterrupt:
        raise typer.Exit(exits.INTERRUPTED) from None
    if not pages.any_line:
        session.tell(pages.problem or f"no such line since {since}")


class _Pages:
    """The lines, page after page to the end, and what comes after it."""

    def __init__(self, session: Session, cluster: str, chosen: dict[str, str], *, follow: bool) -> None:
        self._session, self._cluster, self._chosen, self._follow = session, cluster, chosen, follow
        self.any_line, self.problem = False, ""

    def __iter__(self) -> Iterator[LogLineOut]:
        after, silent = "", False
        while True:
            try:
                page = self._page(after)
            except errors.Unreachable as error:
                if not self._follow:
                    raise
                if not silent:
                    self._session.tell(f"{error.what} ({error.why}); waiting for it to come back")
                silent = True
                self._session.around.sleep(FOLLOW_S)
                continue
            silent, after, self.problem = False, page.next, page.problem
            self.any_line = self.any_line or bool(page.lines)
            yield from page.lines
            if page.is_end and not self._follow:
                return
            if page.is_end:
                self._session.around.sleep(FOLLOW_S)

    def _page(self, after: str) -> LogsOut:
        return self._session.client.logs(self._cluster, {**self._chosen, "after": after})


def _write(session: Session, line: LogLineOut, output: Format) -> None:
    if output is Format.TEXT:
        session.show(logs_view.log_line(line))
    else:
        write_record(session, output, document("LogLine", line))
