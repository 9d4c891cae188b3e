"""Proposals as people read them."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from rich.table import Table
from rich.text import Text

from controlplane.api.schemas.proposals import ProposalDetailOut, ProposalOut
from controlplane.cli.tables import listing
from controlplane.runtime.quantities import ago, moment
from controlplane.runtime.styled_text import styled

_STYLE = {"open": "yellow", "approved": "cyan", "executed": "green", "rejected": "red", "void": "dim"}


def proposal_table(proposals: Sequence[ProposalOut], *, now: datetime) -> Table:
    """One line each, as they were listed."""
    headers = ["ID", "STATE", "CHANGE", "CLUSTERS", "BY", "SINCE", "WHY APPROVAL IS NEEDED"]
    rows = [
        (
            one.id,
            styled(one.state, _STYLE.get(one.state, "")),
            f"{one.change} {one.topic}".strip(),
            ", ".join(one.clusters),
            one.author.removeprefix("user:"),
            ago(one.at, now),
            "; ".join(one.reasons),
        )
        for one in proposals
    ]
    return listing(headers, rows)


def proposal_lines(found: ProposalDetailOut, *, now: datetime) -> Iterator[Text]:
    """Who, what, why, and what keeps it from being done."""
    what = f"{found.change} {found.topic}".strip()
    yield styled(f"proposal {found.id} is ").append_text(styled(found.state, _STYLE.get(found.state, "")))
    yield styled(f"  change:   {what} {', '.join(found.clusters)}, from {found.source}")
    claimed = f", the commit names {found.claimed}" if found.claimed else ""
    yield styled(f"  by:       {found.author.removeprefix('user:')}{claimed}, {ago(found.at, now)}")
    if found.message:
        yield styled(f"  why:      {found.message}")
    for reason in found.reasons:
        yield styled(f"  reserved: {reason}")
    yield styled(f"  ends:     {moment(found.expires_at)}")
    if found.decided_by:
        yield styled(
            f"  decided:  by {found.decided_by.removeprefix('user:')}{f': {found.note}' if found.note else ''}"
        )
    if found.told:
        yield styled(f"  came of it: {found.told}")
    for problem in found.problems:
        yield styled(f"  it would be refused now: {problem}", "red")
    if found.state == "open" and not found.still_that_plan:
        yield styled("  its plan has changed: an approval would only void it", "yellow")
