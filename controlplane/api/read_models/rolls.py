"""A roll as people see it: a row for each node, what is in hand first."""

from collections.abc import Sequence
from dataclasses import replace

from controlplane.api.read_models.roll_stages import NodeRoll, Roll
from controlplane.commands.previews.live import NODE as LIVE
from planner.rollout.diff import Change
from planner.rollout.steps import RolloutStep


def rows_of(roll: Roll, pending: Sequence[RolloutStep]) -> list[NodeRoll]:
    """What is in hand first, then what waits in the order it comes, then what is done, newest first."""
    nodes = dict(roll.nodes)
    if roll.ended_at is not None and pending:
        nodes = {}  # the last roll is over, another is about to begin
    for step in pending:
        found = nodes.get(step.node)
        if found is None or (found.is_done and found.change != step.change.value):
            nodes[step.node] = NodeRoll(step.node, change_word(step), note=reason_words(step))
        elif not found.is_begun and not found.note:
            nodes[step.node] = replace(found, note=reason_words(step))
    order = {step.node: n for n, step in enumerate(pending)}
    in_hand = [n for n in nodes.values() if n.is_begun and not n.is_done]
    waiting = sorted((n for n in nodes.values() if not n.is_begun), key=lambda n: order.get(n.node, len(order)))
    done = sorted((n for n in nodes.values() if n.is_done and n.is_begun), key=_ended, reverse=True)
    return [*in_hand, *waiting, *done]


def change_word(step: RolloutStep) -> str:
    """Two kinds of steps concern no node: live values, and the feature levels that are raised in the end."""
    if step.change is Change.KEEP:
        return "set live" if step.service == LIVE else "finalise"
    return step.change.value


def reason_words(step: RolloutStep) -> str:
    """Without the node's name, which stands beside it."""
    return step.reason.removeprefix(f"{step.node}: ")


def _ended(node: NodeRoll) -> float:
    return node.done_at.timestamp() if node.done_at else 0.0
