"""Refusals in words: which rule stopped the plan, with the numbers, and the smallest thing that would let it
pass.
"""

from typing import TYPE_CHECKING

from planner.drain.infeasible import Infeasible, InfeasibleKind
from planner.drain.plan import DrainPlan
from planner.drain.question import eligible_targets
from planner.drain.request import DrainRequest
from planner.observed import TopicPartition
from planner.quantities import brokers_named

if TYPE_CHECKING:
    from planner.drain.answer import Unanswered


def unusable_target(request: DrainRequest) -> Infeasible | None:
    """A successor, or every target, that cannot receive now. None when there is where to go."""
    able = set(request.cluster.brokers.id[eligible_targets(request)].tolist())
    needed = set(request.successors.values()) or (set() if able else set(request.targets))
    missing = sorted(needed - able)
    if not missing and able:
        return None
    if not missing:
        return _refuse(request, "target", "no broker is named that may receive: name one that is not outgoing")
    brokers = request.cluster.brokers
    live = set(brokers.id[brokers.live].tolist())
    dead = [b for b in missing if b not in live]
    if dead:
        return _refuse(
            request,
            "target",
            f"{brokers_named(dead)} cannot receive: fenced or not registered; wait until it has joined, "
            f"or name another target",
        )
    return _refuse(
        request,
        "disk-unknown",
        f"{brokers_named(missing)} cannot receive: its log directories have not been read, so its disk may be "
        f"full; read them again",
    )


def refused_by_planner(request: DrainRequest, answer: "Unanswered", part: DrainPlan | None) -> Infeasible:
    """The planner's own words, about this drain."""
    stuck = tuple(sorted(request.cluster.name(int(row)) for row in answer.stuck))
    return _refuse(request, answer.kind, answer.message, stuck=stuck, part=part)


def _refuse(
    request: DrainRequest,
    kind: InfeasibleKind,
    message: str,
    *,
    stuck: tuple[TopicPartition, ...] = (),
    part: DrainPlan | None = None,
) -> Infeasible:
    return Infeasible(
        drain_id=request.drain_id,
        cluster_uid=request.cluster_uid,
        round=request.round,
        kind=kind,
        message=f"drain of {brokers_named(sorted(request.outgoing))}, round {request.round}: {message}",
        stuck=stuck,
        feasible_part=part,
    )
