"""A plan as people read it before they say yes: what changes, which VMs, in which order, why, how much, how long."""

from collections.abc import Iterator
from typing import Any

from rich.text import Text

from controlplane.api.presenters.cost_text import cost_lines
from controlplane.api.schemas.specs import YOUNG_S, FieldChangeOut, PhaseOut, PlanOut, StepOut
from controlplane.runtime.quantities import human_seconds
from controlplane.runtime.styled_text import styled
from events.quantities import counted
from planner.quantities import human_bytes

CLASS_WORDS = {
    "static": "needs new VMs",
    "restart": "restarts services in place",
    "dynamic": "Kafka takes it live",
    "behavioural": "only Kedge behaves differently",
    "identity": "cannot change",
}
_CHANGE_STYLE = {"create": "green", "replace": "yellow", "restart": "yellow", "remove": "red"}
_MAX_VALUE = 80


def plan_lines(plan: PlanOut) -> Iterator[Text]:
    """One plan: headline, fields, steps, totals, the fleet's brake, warnings."""
    yield _headline(plan)
    if plan.changes:
        yield styled("  fields")
        for change in plan.changes:
            yield change_line(change)
    if plan.phases:
        yield styled("  steps, in this order")
        for number, phase in enumerate(plan.phases, 1):
            yield from _phase_lines(number, phase)
    if not plan.is_empty:
        yield styled(f"  total: {_total(plan)}")
    for line in plan.afterwards:
        yield styled(f"  then: {line}")
    yield from cost_lines(plan)
    told = {"preset": plan.preset, "size": plan.sizes, "place": plan.moves, "network": plan.networks}
    yield from (styled(f"  {word}: {line}") for word, lines in told.items() for line in lines)
    for line in plan.clients:
        yield styled(f"  clients: {line}", "yellow")
    if plan.window:
        yield styled(f"  window: {plan.window}")
    if plan.brake:
        yield styled(f"  fleet: {plan.brake}")
    for warning in plan.warnings:
        yield styled(f"  warning: {warning}", "yellow")


def change_line(change: FieldChangeOut) -> Text:
    """`    ~ spec.kafka.version: 4.1.1 -> 4.2.0   (static: needs new VMs)`."""
    if change.old is None:
        sign, style, words = "+", "green", _value(change.new)
    elif change.new is None:
        sign, style, words = "-", "red", _value(change.old)
    else:
        sign, style, words = "~", "yellow", f"{_value(change.old)} -> {_value(change.new)}"
    meaning = change.effect or CLASS_WORDS.get(change.field_class, "")
    effect = f"{change.field_class}: {meaning}" if meaning else change.field_class
    line = styled(f"    {sign} ", style).append_text(styled(f"{change.path}: {words}"))
    return line.append_text(styled(f"   ({effect})", "dim"))


def reason_of(step: StepOut) -> str:
    """Why, without the name of the node, which stands beside it."""
    return step.reason.removeprefix(step.node).lstrip(": ")


def summary(plans: list[PlanOut]) -> str:
    """The last line under several plans."""
    busy = [plan for plan in plans if not plan.is_empty]
    if not busy:
        return "nothing to change"
    return "; ".join(f"{plan.cluster}: {_total(plan)}" for plan in busy)


def _headline(plan: PlanOut) -> Text:
    if plan.is_empty:
        return styled(plan.cluster, "bold").append_text(
            styled(f": nothing to change, it stays at generation {plan.generation}")
        )
    what = f"becomes generation {plan.generation}" if plan.exists else "is a new cluster"
    return styled(plan.cluster, "bold").append_text(styled(f" {what}"))


def _phase_lines(number: int, phase: PhaseOut) -> Iterator[Text]:
    together = ", together" if phase.parallel and len(phase.steps) > 1 else ""
    yield styled(f"    {number}. {phase.name}{together}")
    for step in phase.steps:
        yield _step_line(step)


def _step_line(step: StepOut) -> Text:
    figures = [human_bytes(step.bytes)] if step.bytes else []
    figures += [f"about {human_seconds(step.seconds)}"] if step.seconds else []
    cost = f" ({', '.join(figures)})" if figures else ""
    line = styled(f"       {step.node}", _CHANGE_STYLE.get(step.change, ""))
    return line.append_text(styled(f"  {reason_of(step)}{cost}")).append_text(
        styled(f"  {' > '.join(step.how)}", "dim")
    )


def _total(plan: PlanOut) -> str:
    steps = sum(len(phase.steps) for phase in plan.phases)
    if not steps:
        return f"{counted(len(plan.changes), 'field')}, no VM is touched"
    return f"{counted(steps, 'step')}{_to_move(plan)}, about {human_seconds(plan.seconds)}"


def _to_move(plan: PlanOut) -> str:
    """Nothing where no step copies any. An empty disk is not one that nobody has read."""
    if not any("drain" in step.how for phase in plan.phases for step in phase.steps):
        return ""
    if plan.sizes_age_s is None:
        return ", size to move unknown until Kafka is read"
    as_of = f" (as it was {human_seconds(plan.sizes_age_s)} ago)" if plan.sizes_age_s > YOUNG_S else ""
    return f", {human_bytes(plan.bytes)} to move{as_of}"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, list):
        text = f"[{', '.join(_value(item) for item in value)}]"
    elif isinstance(value, dict):
        text = "{" + ", ".join(f"{key}: {_value(item)}" for key, item in value.items()) + "}"
    else:
        text = str(value)
    return text if len(text) <= _MAX_VALUE else text[: _MAX_VALUE - 3] + "..."
