"""Refusals in words: which rule stopped the plan, with the numbers, and the smallest thing that would let it
pass.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from events.spec.broker_sets import set_words
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
        return _empty_set(request, able)
    if not missing:
        return _refuse(request, "target", "no broker is named that may receive: name one that is not outgoing")
    brokers = request.cluster.brokers
    live = set(brokers.id[brokers.live].tolist())
    dead, blind = [b for b in missing if b not in live], [b for b in missing if b in live]
    words = []
    if dead:
        it = "it has" if len(dead) == 1 else "they have"
        words.append(
            f"{brokers_named(dead)} cannot receive: fenced or not registered; wait until {it} joined, or name another "
            f"target"
        )
    if blind:
        its = ("its", "its disk") if len(blind) == 1 else ("their", "their disks")
        words.append(
            f"{brokers_named(blind)} cannot receive: {its[0]} log directories have not been read, so {its[1]} may be "
            f"full; read them again"
        )
    return _refuse(request, "target" if dead else "disk-unknown", "; ".join(words))


def _empty_set(request: DrainRequest, able: set[int]) -> Infeasible | None:
    """A broker in whose set nobody else may receive."""
    for old in request.outgoing:
        if old not in request.successors and not request.sets.beside(old, able):
            own = set_words(request.sets.set_of(old))
            message = f"nobody else of {own} may receive: add brokers to it, or give its topics to another set first"
            return _refuse(request, "target", message)
    return None


def refused_by_planner(request: DrainRequest, answer: "Unanswered", part: DrainPlan | None) -> Infeasible:
    """The planner's own words, about this drain."""
    stuck = tuple(sorted(request.cluster.name(int(row)) for row in answer.stuck))
    message = "; ".join([answer.message, *_left_out(request, answer.others)])
    return _refuse(request, answer.kind, message, stuck=stuck, part=part)


def _left_out(request: DrainRequest, others: Iterable[int]) -> Iterator[str]:
    """Brokers that could hold what their targets may not, with why they are none."""
    brokers = request.cluster.brokers
    live = set(brokers.id[brokers.live].tolist())
    for broker in others:
        why = "its log directories have not been read"
        if broker not in live:
            why = "it is fenced or not registered"
        elif broker not in request.targets:
            why = "it is none of the targets"
        yield f"broker {broker} was left out: {why}"


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
