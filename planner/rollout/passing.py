"""Controllers that leave while others come: those who come take over their ids, one for one. Pure.

A controller's node is named after its zone, so in another zone there is another node. Its id is worth more than its
name: Kafka keeps every controller id's registration, with the versions it supported, for ever, and asks it before each
upgrade. So no id is left behind while another one is made.
"""

from collections.abc import Sequence
from dataclasses import replace

from planner.rollout.diff import Change, NodeChange

LEAST_TO_MOVE = 3
"""Controllers there have to be for one to be moved: while it changes, the others are a majority. Fewer pass nothing
on: the newcomer gets an id of its own, and its vote before the other one leaves."""


def passed_on(changes: Sequence[NodeChange]) -> tuple[NodeChange, ...]:
    """The changes with each controller that leaves and one of its pool that comes made into one: a replacement."""
    present = [c for c in changes if c.service == "controller" and c.incumbent is not None]
    leaving = sorted(
        (c for c in present if c.change is Change.REMOVE), key=lambda c: c.incumbent.service_id if c.incumbent else 0
    )
    if not leaving or len(present) < LEAST_TO_MOVE:
        return tuple(changes)
    coming = [c for c in changes if c.service == "controller" and c.change is Change.CREATE]
    pairs = {new.node: old for old, new in zip(leaving, coming, strict=False)}
    gone = {old.node for old in pairs.values()}
    return tuple(_taken_over(c, pairs[c.node]) if c.node in pairs else c for c in changes if c.node not in gone)


def _taken_over(new: NodeChange, old: NodeChange) -> NodeChange:
    have = old.incumbent
    number = have.service_id if have else -1
    lost = ", whose VM is gone" if have is not None and have.lost else ""
    reason = f"{new.node} takes over controller {number} of {old.node}{lost}"
    return replace(new, change=Change.REPLACE, reason=reason, incumbent=have)
