"""Rolls as tables: one line a roll, one line a step."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from controlplane.api.schemas.nodes import RollOut, RollStepOut
from controlplane.cli.tables import listing
from controlplane.runtime.quantities import ago, human_seconds, moment
from controlplane.runtime.styled_text import styled

STATE_STYLE = {"done": "green", "active": "cyan", "running": "cyan", "failed": "red", "aborted": "yellow"}


def roll_lines(roll: RollOut, *, now: datetime, sentence: str = "") -> Iterator[RenderableType]:
    """A roll with its steps. `sentence` is the last tick's, for the one in hand."""
    head = Text(f"generation {roll.generation}: " if roll.generation else "").append_text(_state(roll.state))
    head.append(f", {roll.done} of {len(roll.steps)} steps, {roll.reason}")
    yield head
    if sentence:
        yield styled(f"now: {sentence}", "bold")
    yield listing(["STEP", "STATE", "STAGE", "SINCE", "LEFT", "REASON"], [_step_row(s, now) for s in roll.steps])
    yield Text()


def roll_table(rolls: Sequence[RollOut]) -> Table:
    """One line a roll that is over."""
    return listing(["GENERATION", "BEGAN", "TOOK", "STATE", "STEPS", "ASKED BY", "REASON"], [_row(r) for r in rolls])


def _row(roll: RollOut) -> Sequence[Text | str]:
    began, ended = roll.began_at, roll.ended_at
    took = human_seconds(round((ended - began).total_seconds())) if began and ended else "-"
    steps = f"{roll.done}/{len(roll.steps)}"
    return (
        str(roll.generation),
        moment(began) if began else "-",
        took,
        _state(roll.state),
        steps,
        roll.asked_by or "-",
        roll.reason,
    )


def _step_row(step: RollStepOut, now: datetime) -> Sequence[Text | str]:
    stage = next((s for s in step.stages if s.state in ("active", "failed")), None)
    together = " (together)" if step.parallel else ""
    return (
        f"{step.change} {step.node}",
        _state(step.state),
        stage.name if stage else "-",
        ago(step.since, now) if step.since else "-",
        f"about {human_seconds(step.left_s)}" if step.left_s is not None else "-",
        f"{step.reason or '-'}{together}",
    )


def _state(state: str) -> Text:
    return styled(state, STATE_STYLE.get(state, "dim"))
