"""What would move, as people read it: how much, how close to the best, what was assumed, the largest moves."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType

from controlplane.api.schemas import moves as move_api
from controlplane.cli.tables import listing
from controlplane.runtime.quantities import human_seconds
from controlplane.runtime.styled_text import styled
from events.quantities import counted
from planner.quantities import human_bytes

_LISTED = 10


def moves_lines(answer: move_api.MovesPlanOut) -> Iterator[RenderableType]:
    """The answer of a look: the plan, or why there is none to show."""
    yield styled(answer.sentence, "bold")
    if answer.plan is None:
        yield styled(f"there is no plan to show: {answer.no_plan}", "yellow")
        return
    plan = answer.plan
    lists = counted(plan.total_moves, "replica list")
    yield f"{lists} to change, {human_bytes(plan.copied_bytes)} to copy, {human_seconds(round(plan.seconds))} at least"
    if plan.shortfall:
        yield styled(f"in part only: {plan.shortfall}", "yellow")
    if plan.certificate:
        yield ""
        yield certificate_table(plan.certificate)
    yield from assumption_lines(plan.assumptions)
    if plan.moves:
        yield ""
        yield listing(("PARTITION", "BEFORE", "AFTER", "COPIED"), [_row(move) for move in plan.moves[:_LISTED]])
        if plan.total_moves > _LISTED:
            yield styled(f"and {plan.total_moves - min(_LISTED, len(plan.moves))} more", "dim")


def certificate_table(rows: Sequence[Sequence[str]]) -> RenderableType:
    """Each measure beside the bound no plan can beat."""
    return listing(("CERTIFICATE", "VALUE", "BOUND", "RATIO"), rows)


def assumption_lines(assumptions: Sequence[str]) -> Iterator[RenderableType]:
    """What the figures rest on."""
    yield ""
    if assumptions:
        yield "assumed:"
        yield from (styled(f"  {line}", "yellow") for line in assumptions)
    else:
        yield "nothing was assumed: every figure was given or measured"


def _row(move: move_api.PlannedMoveOut) -> Sequence[str]:
    before, after = (", ".join(map(str, ids)) for ids in (move.before, move.after))
    return f"{move.topic}-{move.partition}", before, after, human_bytes(move.copied_bytes)
