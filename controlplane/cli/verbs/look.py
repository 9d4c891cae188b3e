"""Verbs that look: get, describe, endpoints."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.table import Table

from controlplane.api.schemas.clusters import ClusterDetailOut, ClusterOut, EndpointsOut, ListenerOut
from controlplane.cli.completion import cluster_names
from controlplane.cli.describe_view import description
from controlplane.cli.errors import CliError
from controlplane.cli.options import At, Cluster, Output
from controlplane.cli.output import Format, ListFormat, document, write_document, write_record
from controlplane.cli.past_view import past_words
from controlplane.cli.session import Session, session_of
from controlplane.cli.tables import cluster_table
from controlplane.cli.watch import StatusWatch
from controlplane.runtime.quantities import moment
from events.quantities import counted

ALL = "clusters"


def get(
    context: typer.Context,
    what: Annotated[
        str, typer.Argument(metavar="clusters|CLUSTER", autocompletion=cluster_names, help="All, or one by name.")
    ] = ALL,
    output: Annotated[ListFormat, typer.Option("-o", "--output", help="Output format.")] = (ListFormat.TABLE),
    watch: Annotated[
        bool, typer.Option("-w", "--watch", help="Watch: redraw, or write one record for each change.")
    ] = False,
) -> None:
    """List the clusters, or one of them.

    With -w and -o json each change of a cluster is one line. The lines of a single cluster carry the event position to
    go on from: kedge events CLUSTER -f --after POSITION.

    \b
    Examples:
      kedge get
      kedge get clusters -o wide
      kedge get orders -o json | jq .sentence
      kedge get -o name | xargs -n1 kedge describe
      kedge get -w
    """
    session = session_of(context)
    if watch:
        _watch(session, what, output)
    elif what == ALL:
        _write_list(session, session.client.clusters(), output)
    else:
        _write_one(session, session.client.cluster(what), output)


def describe(context: typer.Context, cluster: Cluster, at: At = "", output: Output = Format.TEXT) -> None:
    """Show the details of a cluster, and what to type next.

    Conditions with their age and next command; drain; VMs; remaining steps, node by node.

    With --at its past state: what was declared and decided. What was observed (metadata, reports) is not kept.

    \b
    Examples:
      kedge describe orders
      kedge describe orders --at 2026-01-31T14:00Z
      kedge describe orders -o json | jq '.instances[] | select(.lost)'
    """
    session = session_of(context)
    detail = session.client.cluster(cluster, at=at)
    if output is Format.TEXT:
        if detail.past is not None:
            session.tell(past_words(detail.past))
        session.show(*description(detail, now=detail.past.at if detail.past else session.around.utc_now()))
    else:
        write_document(session, output, document("Cluster", detail))


def endpoints(
    context: typer.Context,
    cluster: Cluster,
    output: Output = Format.TEXT,
    ca: Annotated[
        bool,
        typer.Option("--ca", help="Print the certificate by which clients recognise brokers (PEM) instead."),
    ] = False,
    listener: Annotated[
        str, typer.Option("--listener", metavar="NAME", help="Of that listener, instead of the first.")
    ] = "",
    config: Annotated[
        str,
        typer.Option(
            "--config",
            metavar="KIND",
            help="Print an example configuration instead: java, librdkafka, python or kcat.",
        ),
    ] = "",
) -> None:
    """Print the bootstrap addresses of a cluster.

    The value of `bootstrap.servers` of a listener, and nothing else, goes to stdout. What is in capitals in an example
    configuration is to be filled in; no password is in it.

    \b
    Examples:
      kedge endpoints orders
      kafka-topics.sh --bootstrap-server "$(kedge endpoints orders)" --list
      kedge endpoints orders --ca > orders-ca.pem
      kedge endpoints orders --listener SCRAM --config java > client.properties
    """
    session = session_of(context)
    found = session.client.endpoints(cluster)
    if output is not Format.TEXT:
        write_document(session, output, document("Endpoints", found))
        return
    if ca and not found.ca:
        raise CliError("there is no CA", why=f"no node of {cluster} speaks TLS, or none has started yet")
    if ca:
        session.write(found.ca.rstrip())
        return
    chosen = _listener(found, listener) if listener or config else None
    if chosen is not None and config:
        session.write(_example(chosen, config))
        return
    bootstrap = found.bootstrap if chosen is None else chosen.bootstrap
    if bootstrap:
        session.write(",".join(bootstrap))
    else:
        session.tell(f"nothing is published yet: no broker of {cluster} has an address")
    published = f"published {moment(found.published_at)}" if found.published_at else "not published yet"
    session.tell(f"security: {found.security if chosen is None else chosen.security}; {published}")
    for one in found.listeners if len(found.listeners) > 1 else ():
        session.tell(_listener_words(one))
    for name in found.names:
        session.tell(f"{name.name} -> {', '.join(name.addresses) or 'nothing yet'}{_trouble(name.problem)}")


def _listener(found: EndpointsOut, name: str) -> ListenerOut:
    """The first where none is named."""
    named = [one for one in found.listeners if name.upper() in ("", one.name)]
    if not found.listeners:
        raise CliError(
            f"what listeners {found.cluster} has is not known",
            why="others run its brokers, and they speak TLS",
            next_step="ask its owner how clients sign in; `kedge endpoints` has the addresses",
        )
    if not named:
        there = ", ".join(one.name for one in found.listeners) or "none"
        raise CliError(f"{found.cluster} has no listener {name}", why=f"its listeners are {there}")
    return named[0]


def _example(listener: ListenerOut, kind: str) -> str:
    if listener.examples and kind not in listener.examples:
        raise CliError(f"no example for {kind}", why=f"there are some for {', '.join(listener.examples)}")
    if not listener.examples:
        raise CliError(
            f"no example for listener {listener.name}",
            why="no broker has it yet",
            next_step="wait until the cluster is as declared",
        )
    return listener.examples[kind]


def _listener_words(one: ListenerOut) -> str:
    words = f"listener {one.name}: port {one.port}, {one.protocol or one.security}, authentication {one.authentication}"
    return f"{words}; {counted(one.missing, 'broker')} without it yet" if one.missing else words


def _trouble(problem: str) -> str:
    return f"; not kept: {problem}" if problem else ""


def _write_list(session: Session, clusters: Sequence[ClusterOut], output: ListFormat) -> None:
    match output:
        case ListFormat.NAME:
            for cluster in clusters:
                session.write(cluster.name)
        case ListFormat.TABLE | ListFormat.WIDE:
            if clusters:
                session.show(_table(session, clusters, output))
            else:
                session.tell("no cluster is declared yet: kedge apply -f FILE")
        case _:
            items = [cluster.model_dump(mode="json") for cluster in clusters]
            write_document(session, output, document("ClusterList", {"items": items}))


def _write_one(session: Session, detail: ClusterDetailOut, output: ListFormat) -> None:
    if output in (ListFormat.JSON, ListFormat.YAML):
        write_document(session, output, document("Cluster", detail))
    else:
        _write_list(session, [detail], output)


def _watch(session: Session, what: str, output: ListFormat) -> None:
    def look() -> Sequence[ClusterOut]:
        return session.client.clusters() if what == ALL else [session.client.cluster(what)]

    def picture(clusters: Sequence[ClusterOut]) -> RenderableType:
        return _table(session, clusters, output)

    if output in (ListFormat.TABLE, ListFormat.WIDE) and session.can_redraw:
        StatusWatch(session, look).redraw(picture)
    else:
        StatusWatch(session, look).changes(_Changes(session, output).write)


class _Changes:
    """Writes changed clusters as records; of a table only the first has the headers."""

    def __init__(self, session: Session, output: ListFormat) -> None:
        self._session = session
        self._output = output
        self._first = True
        self._seen: dict[str, int] = {}

    def write(self, cluster: ClusterOut) -> None:
        if self._output is ListFormat.NAME:
            self._session.write(cluster.name)
        elif self._output in (ListFormat.TABLE, ListFormat.WIDE):
            table = _table(self._session, [cluster], self._output)
            table.show_header = self._first
            self._session.show(table)
        else:
            write_record(self._session, self._output, self._record(cluster))
        self._first = False

    def _record(self, cluster: ClusterOut) -> dict[str, object]:
        if not isinstance(cluster, ClusterDetailOut):
            return document("Cluster", cluster)
        return {**document("Cluster", cluster), "position": self._position(cluster)}

    def _position(self, cluster: ClusterDetailOut) -> int:
        """Global position of the last event that is in what was seen: asking from there on skips nothing."""
        seen = self._seen.get(cluster.uid, 0)
        while True:
            page = self._session.client.events(cluster.name, after=seen).events
            older = [event.position for event in page if event.version <= cluster.stream_version]
            seen = older[-1] if older else seen
            if not page or len(older) < len(page):
                self._seen[cluster.uid] = seen
                return seen


def _table(session: Session, clusters: Sequence[ClusterOut], output: ListFormat) -> Table:
    return cluster_table(clusters, wide=output is ListFormat.WIDE, now=session.around.utc_now())
