"""The roll in hand, or the last one: a row for each node, live."""

from collections.abc import Sequence
from dataclasses import replace

from fastapi import APIRouter, Request
from starlette.responses import Response

from controlplane.portal.access.caller import Caller
from controlplane.portal.pages.cluster import head_of
from controlplane.portal.pages.frame import page
from controlplane.portal.pages.stages import STAGES, NodeRoll, Roll
from controlplane.portal.routes.clusters import living
from controlplane.portal.services import Services
from controlplane.previews.live import NODE as LIVE
from controlplane.previews.plan import pending_rollout
from planner.rollout.diff import Change
from planner.rollout.steps import RolloutStep

router = APIRouter(prefix="/clusters/{name}", tags=["pages"], include_in_schema=False)


@router.get("/rollout")
def rollout(request: Request, name: str, services: Services, rights: Caller) -> Response:
    """The timeline."""
    view = living(services, name)
    head = head_of(request, services, rights, view)
    pending = [s for p in pending_rollout(view, services.fleet.last_snapshot(view.uid)).phases for s in p.steps]
    nodes = rows_of(head.roll, pending)
    shown = [stage for stage in STAGES if any(stage in n.stages for n in nodes)] or list(STAGES)
    return page(
        request,
        "rollout.html",
        head=head,
        tab="rollout",
        nodes=nodes,
        stages=shown,
        pending={s.node: s for s in pending},
        left_s=sum(s.seconds for s in pending),
        left_bytes=sum(s.bytes for s in pending),
        drain=view.drain,
        may_abort=head.may_steer and bool(view.recycling) and not view.aborting,
    )


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
