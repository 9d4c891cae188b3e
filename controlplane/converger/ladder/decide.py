"""The decision of one tick: pure, from what is recorded and what is seen to events, effects and one sentence.

A ladder of steps; the first that has something to say decides. Outcomes come before new intents, what is in hand
before what is next, and nothing below a rung happens while that rung waits.
"""

from collections.abc import Iterable
from dataclasses import replace

from controlplane.cluster.holds import hold_on
from controlplane.cluster.wait_reasons import Mark, WaitReason
from controlplane.converger.conditions.changes import condition_changes
from controlplane.converger.ladder.rung import Begins, Phase, Rung
from controlplane.converger.ladder.rungs import rungs
from controlplane.converger.questions.rolls.handover_pairs import is_to_be_replaced_first
from controlplane.converger.questions.stages import held_by_stage
from controlplane.converger.questions.windows import closed_for
from controlplane.converger.situation.decision import Decision, record, wait
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.clouds.noticed import noticed_first
from controlplane.converger.steps.controllers.cure import cure, is_lost, waits_for_metadata
from controlplane.converger.steps.health.healing import lost_disk_first, restart_first, unstuck
from controlplane.converger.steps.health.heartbeats import with_heartbeats
from controlplane.converger.steps.health.volume_limits import with_volume_limits
from controlplane.converger.steps.moves.latency_brake import with_brake
from controlplane.converger.steps.moves.producer_quota import with_producer_quota
from controlplane.converger.steps.rolls.postponed import paced
from controlplane.converger.steps.rolls.stale_orders import beside_stale_orders
from controlplane.converger.steps.running.restarts import restart_in_hand_step
from controlplane.converger.steps.topics.beside import with_topics
from controlplane.converger.steps.users.beside import with_users
from controlplane.converger.steps.users.kedge_rights import with_kedge_rights
from controlplane.converger.steps.users.quotas import with_client_quotas
from events import facts

FIRST, IN_HAND, NEXT = rungs(Phase.FIRST), rungs(Phase.IN_HAND), rungs(Phase.NEXT)


def decide(situation: Situation) -> Decision:
    """The decision of one tick, condition changes included. Pure: no clock, no randomness, no I/O."""
    decision = with_volume_limits(situation, with_brake(situation, paced(situation, _ladder(situation))))
    decision = with_users(situation, with_topics(situation, with_producer_quota(situation, decision)))
    decision = with_heartbeats(situation, with_client_quotas(situation, decision))
    decision = with_kedge_rights(situation, decision)
    if decision.events:
        return decision
    changes = condition_changes(situation, decision)
    return Decision(decision.sentence, changes, decision.effects, decision.wait) if changes else decision


def _ladder(situation: Situation) -> Decision:
    view = situation.view
    if view.history.unreadable:
        sentence = f"history unreadable: {view.history.unreadable}"
        return wait(WaitReason.HISTORY_UNREADABLE, sentence, patience_s=0)
    if view.document is None or view.deleted:
        return Decision("nothing declared" if view.document is None else "deleted")
    if view.requests.held:
        return wait(
            WaitReason.HELD, f"held: {view.requests.held}", next_command=f"kedge resume {view.name}", patience_s=0
        )
    for rung in FIRST:
        decision = rung.step(situation)
        if decision is not None:
            return decision
    for number, rung in enumerate(IN_HAND):
        decision = rung.step(situation)
        if decision is not None:
            return _in_hand(situation, number, decision)
    hold = hold_on(view, situation.now)
    if hold is not None:
        return wait(WaitReason.PAUSED, hold.sentence, next_command=hold.next_command, patience_s=0)
    lost = cure(situation, ()) if is_lost(situation) else None
    if lost is not None:
        return lost
    closed, later = closed_for(situation), held_by_stage(situation)
    for number, rung in enumerate(NEXT):
        decision = rung.step(situation)
        if decision is None:
            continue
        if decision.wait is not None and (made := noticed_first(situation)) is not None:
            return made
        shut = closed or (later if rung.of_spec else None)
        if shut is None or not rung.is_postponed(decision, view):
            return decision
        return _repair(situation, NEXT[number:]) or shut.decision(decision, situation.now)
    return Decision(f"converged at generation {view.generation}: {len(view.alive())} VMs")


def _in_hand(situation: Situation, number: int, decision: Decision) -> Decision:
    """What comes of the decision of this rung: where it waits, somebody else may have to be helped first."""
    rung = IN_HAND[number]
    if waits_for_metadata(decision):
        if (mended := unstuck(situation)) is not None:
            return mended
        if is_lost(situation):
            below = [r.step for r in IN_HAND[number + 1 :] if r.sees_controllers_in]
            return cure(situation, below) or decision
    if rung.lets_notices_pass and decision.wait is not None:
        made = noticed_first(situation)
        if made is not None:
            return made
    if rung.waits_for_copies and _has_no_source(situation, decision):
        begun = _restarted_first(situation)
        if begun is not None:
            return begun
    if decision.wait is not None and rung.waits_for_unhealthy(decision.wait.reason):
        first = lost_disk_first(situation) or _restarted_first(situation)
        return first or _explained(situation, _postponed(situation, decision))
    if rung.waits_for_agents:
        decision = beside_stale_orders(situation, decision)
    return _explained(situation, decision)


def _explained(situation: Situation, decision: Decision) -> Decision:
    """Who waits at a gate for somebody to be back does not hide that the restart of one has failed: that is what keeps
    the cluster, and says what is done about it."""
    if (
        not situation.view.settings.restarts
        or decision.wait is None
        or not decision.wait.reason.has(Mark.GATE)
        or decision.effects
    ):
        return decision
    restart = restart_in_hand_step(situation)
    failed = restart is not None and restart.wait is not None and restart.wait.reason == WaitReason.RESTART_FAILED
    return restart if restart is not None and failed else decision


def _restarted_first(situation: Situation) -> Decision | None:
    """A restart that is a cure begins, or is seen through, before what waits for it goes on."""
    if not situation.view.settings.restarts:
        return restart_first(situation)
    seen = restart_in_hand_step(situation)
    return seen if seen is not None and seen.events else None


def _has_no_source(situation: Situation, decision: Decision) -> bool:
    """Whether a drain waits for what nobody who serves has a copy of: who has it may be the very one it empties."""
    drain, kafka = situation.view.moves.drain, situation.seen.fresh_kafka(situation.now)
    if decision.wait is None or drain is None or kafka is None:
        return False
    return any(kafka.may_have_only_copy(broker) for broker in drain.outgoing)


def _postponed(situation: Situation, decision: Decision) -> Decision:
    """A drain of which nothing can move, or has no plan, as somebody who is down is to get a new VM: that one is made
    first. Of one that waits for a target nothing runs."""
    drain = situation.view.moves.drain
    stands = decision.wait is not None and decision.wait.reason.has(Mark.DRAIN_STANDS)
    if drain is None or not stands or not is_to_be_replaced_first(situation):
        return decision
    return record(f"{decision.sentence}; who is down is replaced first", facts.DrainAbandoned(drain.id, "put off"))


def _repair(situation: Situation, below: Iterable[Rung]) -> Decision | None:
    """What is mended though nothing voluntary may begin; nobody below who counts on the rest is asked."""
    mending = replace(situation, repairs_only=True)
    found = (rung.step(mending) for rung in below if rung.begins is Begins.BOTH)
    return next((decision for decision in found if decision is not None), None)
