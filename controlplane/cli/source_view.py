"""Git sources as people read them: a line each, then what is wrong and what to do."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from controlplane.api.schemas.sources import SourceOut
from controlplane.cli.problems_view import problem_lines
from controlplane.cli.tables import listing, sync_text
from controlplane.runtime.quantities import ago
from controlplane.runtime.styled_text import styled


def source_table(sources: Sequence[SourceOut], *, now: datetime) -> Table:
    """One line a source."""
    headers = [
        "SOURCE",
        "SYNC",
        "REASON",
        "SINCE",
        "COMMIT",
        "BRANCH",
        "LAST POLL",
        "CLUSTERS",
        "PROBLEMS",
        "REPOSITORY",
    ]
    rows: list[list[Text | str]] = [
        [
            source.source,
            sync_text(source.sync),
            source.reason,
            ago(source.since, now) if source.since else "-",
            source.commit[:7] or "-",
            source.branch,
            ago(source.last_poll, now),
            str(len(source.clusters)),
            str(len(source.problems)),
            source.repository + (f" {source.path}/" if source.path else ""),
        ]
        for source in sources
    ]
    return listing(headers, rows)


def source_lines(source: SourceOut) -> Iterator[RenderableType]:
    """What a person should know of one source beyond its line. Nothing where it is in sync and lists no keys."""
    if source.claimed_because and source.author:
        yield styled("")
        yield styled(f"{source.source}: by {source.author}, claimed: {source.claimed_because}", "yellow")
    elif source.signed_by:
        yield styled("")
        yield styled(f"{source.source}: by {source.author}, signed with {source.signed_by}")
    if source.sync != "Synced" and source.message:
        yield styled("")
        yield styled(f"{source.source}: {source.message}", "yellow")
    if source.forge is not None and source.forge.fault:
        yield styled(f"{source.source}: {source.forge.fault}", "yellow")
    for problem in source.problems:
        yield from problem_lines(problem)
    if source.next:
        yield styled(f"  next: {source.next}")
