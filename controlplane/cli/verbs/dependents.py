"""`kedge dependents`: who reads from, copies from and relies on a broker."""

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.console import RenderableType

from controlplane.api.schemas.queries import DependentsOut
from controlplane.cli.options import Cluster, Output
from controlplane.cli.output import Format, document, show_or_write
from controlplane.cli.session import session_of
from controlplane.cli.tables import listing
from controlplane.runtime.styled_text import styled
from events.quantities import counted
from planner.quantities import human_bytes

_MOST = 20
"""Of topics and clients; the API has all."""

BrokerId = Annotated[int, typer.Argument(metavar="BROKER", show_default=False, help="Id of the broker.")]


def dependents(context: typer.Context, cluster: Cluster, broker: BrokerId, output: Output = Format.TEXT) -> None:
    """Show the dependents of a broker.

    The groups that read from it or commit to it, with their clients; what is written to it; the brokers that copy
    from it; and partitions that would have no leader without it. Groups are read from brokers. Kafka does not
    report producers.

    \b
    Examples:
      kedge dependents orders 1001
      kedge dependents orders 1001 -o json | jq -r '.readers[].clients[]'
    """
    session = session_of(context)
    found = session.client.dependents(cluster, broker)
    show_or_write(session, output, document("Dependents", found), *_lines(found))


def _lines(found: DependentsOut) -> Iterator[RenderableType]:
    yield styled(f"{found.cluster}, broker {found.broker}", "bold")
    if found.sole:
        named = ", ".join(found.sole[:_MOST]) + (" ..." if len(found.sole) > _MOST else "")
        yield styled(f"{counted(len(found.sole), 'partition')} would have no leader without it: {named}", "red")
    if found.readers_unknown:
        yield styled(f"groups could not be read: {found.readers_unknown}", "yellow")
    elif found.readers:
        headers = ["GROUP", "STATE", "READS FROM IT", "COMMITS TO IT", "CLIENTS"]
        yield listing(
            headers, [_reader(r.group, r.word, f"{r.led} of {r.of}", r.coordinated, r.clients) for r in found.readers]
        )
    else:
        yield styled("no group reads from it or commits to it", "dim")
    if found.topics:
        rows = [[t.topic, f"{t.led} of {t.of}", _rate(t.written_per_s)] for t in found.topics[:_MOST]]
        yield listing(["TOPIC", "LED HERE", "WRITTEN"], rows)
        if len(found.topics) > _MOST:
            yield styled(f"and {len(found.topics) - _MOST} topics more", "dim")
    copies = ", ".join(f"{broker} ({count})" for broker, count in found.followers.items())
    yield f"brokers that copy from it (partitions): {copies or 'none'}"


def _reader(group: str, word: str, reads: str, coordinated: bool, clients: list[str]) -> list[str]:
    named = ", ".join(clients[:_MOST]) + (" ..." if len(clients) > _MOST else "")
    return [group, word, reads, "yes" if coordinated else "no", named or "none"]


def _rate(written_per_s: float | None) -> str:
    return "-" if written_per_s is None else f"{human_bytes(round(written_per_s))}/s"
