"""What is left to do, as a tree: node by node, with the stage each one has reached."""

from collections.abc import Sequence

from rich.text import Text
from rich.tree import Tree

from controlplane.api.presenters.plan_text import reason_of
from controlplane.api.schemas.instances import InstanceOut
from controlplane.api.schemas.specs import StepOut
from controlplane.runtime.styled_text import styled
from events.quantities import counted
from planner.quantities import human_bytes

_OUTGOING = {
    "draining": ("drain",),
    "lingering": ("linger",),
    "fencing": ("fence", "stop"),
    "fenced": ("hand over", "retire"),
    "released": ("hand over", "catch up"),
    "retiring": ("retire",),
}
_INCOMING = {"requested": ("create", "surge"), "launched": ("join", "stop"), "joined": ("drain", "catch up", "retire")}
"""Phase of an instance -> first words of the stage (`StepOut.how`) it stands for."""


def status_tree(steps: Sequence[StepOut], instances: Sequence[InstanceOut]) -> Tree:
    """The tree. Done stages carry `+`, the one in hand `>`, the others `-`: readable without colour."""
    root = Tree(styled(f"{counted(len(steps), 'step')} to do", "bold"))
    for step in steps:
        mine = [instance for instance in instances if instance.node == step.node]
        branch = root.add(_title(step))
        current = stage_in_hand(step, mine)
        for index, stage in enumerate(step.how):
            branch.add(_stage(stage, index, current))
    return root


def stage_in_hand(step: StepOut, instances: Sequence[InstanceOut]) -> int:
    """Index in `step.how` of the stage the node is at, -1 when work on it has not begun."""
    for instance in instances:
        if instance.phase in _OUTGOING:
            return _find(step.how, _OUTGOING[instance.phase])
    ordered = sorted(instances, key=lambda instance: instance.generation)
    if not ordered or (step.change != "create" and len(ordered) == 1 and ordered[0].phase == "joined"):
        return -1
    return _find(step.how, _INCOMING.get(ordered[-1].phase, ()))


def _find(how: Sequence[str], words: Sequence[str]) -> int:
    for word in words:
        for index, stage in enumerate(how):
            if stage.startswith(word):
                return index
    return -1


def _title(step: StepOut) -> Text:
    parts = [f"{step.change} {step.node}"]
    parts += [f"rack {step.rack}"] if step.rack else []
    parts += [human_bytes(step.bytes)] if step.bytes else []
    reason = reason_of(step)
    return styled(", ".join(parts), "bold").append_text(styled(f": {reason}" if reason else ""))


def _stage(stage: str, index: int, current: int) -> Text:
    if index < current:
        return styled(f"+ {stage}", "green")
    if index == current:
        return styled(f"> {stage}", "bold cyan")
    return styled(f"- {stage}", "dim")
