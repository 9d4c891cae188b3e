"""`kedge moves`: reassignments that run, and what a person wants of those that no plan of Kedge names."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from controlplane.api.schemas import chaos as chaos_api
from controlplane.cli import errors, exits, options, tables
from controlplane.cli.output import Format, document, show_or_write
from controlplane.cli.session import session_of
from controlplane.runtime.quantities import human_seconds
from controlplane.runtime.styled_text import styled

_Partitions = Annotated[
    list[str] | None,
    typer.Option("--cancel", metavar="TOPIC-PARTITION", show_default=False, help="Cancel this move. Repeatable."),
]
_Adopted = Annotated[
    list[str] | None,
    typer.Option(
        "--adopt", metavar="TOPIC-PARTITION", show_default=False, help="Accept this move as known. Repeatable."
    ),
]


def moves(
    context: typer.Context,
    cluster: options.Cluster,
    cancel: _Partitions = None,
    adopt: _Adopted = None,
    reason: options.Reason = "",
    output: options.Output = Format.TEXT,
) -> None:
    """Show running reassignments, or settle foreign ones.

    Moves that no plan of Kedge names are waited for; after ten minutes the condition StrangersMoves reports them.
    Only a person cancels one (--cancel: refused if too few of its former replicas are in sync), or accepts it as
    known (--adopt: waited for, and no longer reported).

    \b
    Examples:
      kedge moves orders
      kedge moves orders --cancel payments-3 --reason "a tool that died"
      kedge moves orders --adopt payments-3 --reason "our own tool"
    """
    session = session_of(context)
    if cancel and adopt:
        raise errors.CliError(
            "two actions were requested", why="--cancel and --adopt exclude each other", exit_code=exits.USAGE
        )
    if cancel or adopt:
        order = chaos_api.MovesIn(partitions=list(cancel or adopt or ()), reason=reason)
        client = session.client
        answer = client.take_back_moves(cluster, order) if cancel else client.adopt_moves(cluster, order)
        show_or_write(session, output, document("Command", answer), answer.sentence)
        return
    found = session.client.moves(cluster)
    show_or_write(session, output, document("Moves", found), *moves_lines(found))


def moves_lines(found: chaos_api.MovesOut) -> Iterator[RenderableType]:
    """A line a move, then why those hang that do."""
    if not found.moves:
        yield "nothing moves"
    else:
        moves = sorted(found.moves, key=lambda m: (-(m.age_s or 0.0), m.topic, m.partition))
        yield tables.listing(["PARTITION", "TO", "ISR", "WHOSE", "SINCE", "LAST BYTE"], [_row(m) for m in moves])
        for move in moves:
            if move.hung:
                yield styled(f"hangs: {move.hung}", "red")
    yield styled(f"by metadata read {human_seconds(round(found.metadata_age_s))} ago", "dim")


def _row(move: chaos_api.MoveOut) -> Sequence[Text | str]:
    target, isr = (", ".join(map(str, ids)) or "none" for ids in (move.target, move.isr))
    whose = "kedge" if move.of_kedge else move.asked or "nobody's plan"
    since, still = (_age_text(s) for s in (move.age_s, move.still_s))
    return f"{move.topic}-{move.partition}", target, isr, whose, since, still


def _age_text(seconds: float | None) -> str:
    return "not known" if seconds is None else f"{human_seconds(round(seconds))} ago"
