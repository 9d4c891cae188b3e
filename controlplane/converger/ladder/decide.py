"""The decision of one tick: pure, from what is recorded and what is seen to events, effects and one sentence.

A ladder of steps; the first that has something to say decides. Outcomes come before new intents, what is in hand
before what is next, and nothing below a rung happens while that rung waits.
"""

from collections.abc import Iterable
from dataclasses import replace

from controlplane.cluster.holds import hold_on
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.conditions.changes import condition_changes
from controlplane.converger.ladder.rung import Begins, Phase, Rung
from controlplane.converger.ladder.rungs import rungs
from controlplane.converger.questions.rolls.handover_pairs import is_to_be_replaced_first
from controlplane.converger.questions.stages import held_by_stage
from controlplane.converger.questions.windows import closed_for
from controlplane.converger.situation.decision import Verdict, record, wait
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.clouds.noticed import noticed_first
from controlplane.converger.steps.controllers.cure import cure, is_lost, waits_for_metadata
from controlplane.converger.steps.health.healing import lost_disk_first, restart_first, unstuck
from controlplane.converger.steps.health.heartbeats import with_heartbeats
from controlplane.converger.steps.rolls.postponed import paced
from controlplane.converger.steps.rolls.stale_orders import beside_late_orders
from controlplane.converger.steps.running.restarts import restart_in_hand_step
from controlplane.converger.steps.topics.beside import with_topics
from events import facts

FIRST, IN_HAND, NEXT = rungs(Phase.FIRST), rungs(Phase.IN_HAND), rungs(Phase.NEXT)


def decide(situation: Situation) -> Verdict:
    """The verdict of one tick, condition changes included. Pure: no clock, no randomness, no I/O."""
    verdict = with_heartbeats(situation, with_topics(situation, paced(situation, _ladder(situation))))
    if verdict.events:
        return verdict
    changes = condition_changes(situation, verdict)
    return Verdict(verdict.sentence, changes, verdict.effects, verdict.wait) if changes else verdict


def _ladder(situation: Situation) -> Verdict:
    view = situation.view
    if view.history.unreadable:
        sentence = f"history unreadable: {view.history.unreadable}"
        return wait(WaitReason.HISTORY_UNREADABLE, sentence, patience_s=0)
    if view.document is None or view.deleted:
        return Verdict("nothing declared" if view.document is None else "deleted")
    if view.requests.held:
        return wait(
            WaitReason.HELD, f"held: {view.requests.held}", next_command=f"kedge resume {view.name}", patience_s=0
        )
    for rung in FIRST:
        verdict = rung.step(situation)
        if verdict is not None:
            return verdict
    for number, rung in enumerate(IN_HAND):
        verdict = rung.step(situation)
        if verdict is not None:
            return _in_hand(situation, number, verdict)
    hold = hold_on(view, situation.now)
    if hold is not None:
        return wait(WaitReason.PAUSED, hold.sentence, next_command=hold.next_command, patience_s=0)
    lost = cure(situation, ()) if is_lost(situation) else None
    if lost is not None:
        return lost
    closed, later = closed_for(situation), held_by_stage(situation)
    for number, rung in enumerate(NEXT):
        verdict = rung.step(situation)
        if verdict is None:
            continue
        if verdict.wait is not None and (made := noticed_first(situation)) is not None:
            return made
        shut = closed or (later if rung.of_spec else None)
        if shut is None or not rung.is_put_off(verdict, view):
            return verdict
        return _repair(situation, NEXT[number:]) or shut.verdict(verdict, situation.now)
    return Verdict(f"converged at generation {view.generation}: {len(view.alive())} VMs")


def _in_hand(situation: Situation, number: int, verdict: Verdict) -> Verdict:
    """What comes of the verdict of this rung: where it waits, somebody else may have to be helped first."""
    rung = IN_HAND[number]
    if waits_for_metadata(verdict):
        if (mended := unstuck(situation)) is not None:
            return mended
        if is_lost(situation):
            below = [r.step for r in IN_HAND[number + 1 :] if r.sees_controllers_in]
            return cure(situation, below) or verdict
    if rung.lets_notices_pass and verdict.wait is not None:
        made = noticed_first(situation)
        if made is not None:
            return made
    if rung.waits_for_copies and _has_no_source(situation, verdict):
        begun = _restarted_first(situation)
        if begun is not None:
            return begun
    if verdict.wait is not None and rung.waits_for_unhealthy(verdict.wait.reason):
        first = lost_disk_first(situation) or _restarted_first(situation)
        return first or _explained(situation, _put_off(situation, verdict))
    if rung.waits_for_agents:
        verdict = beside_late_orders(situation, verdict)
    return _explained(situation, verdict)


def _explained(situation: Situation, verdict: Verdict) -> Verdict:
    """Who waits at a gate for somebody to be back does not hide that the restart of one has failed: that is what keeps
    the cluster, and says what is done about it."""
    if (
        not situation.view.settings.restarts
        or verdict.wait is None
        or not verdict.wait.reason.is_gate
        or verdict.effects
    ):
        return verdict
    restart = restart_in_hand_step(situation)
    failed = restart is not None and restart.wait is not None and restart.wait.reason == WaitReason.RESTART_FAILED
    return restart if restart is not None and failed else verdict


def _restarted_first(situation: Situation) -> Verdict | None:
    """A restart that is a cure begins, or is seen through, before what waits for it goes on."""
    if not situation.view.settings.restarts:
        return restart_first(situation)
    seen = restart_in_hand_step(situation)
    return seen if seen is not None and seen.events else None


def _has_no_source(situation: Situation, verdict: Verdict) -> bool:
    """Whether a drain waits for what nobody who serves has a copy of: who has it may be the very one it empties."""
    drain, kafka = situation.view.moves.drain, situation.seen.fresh_kafka(situation.now)
    if verdict.wait is None or drain is None or kafka is None:
        return False
    return any(kafka.may_have_only_copy(broker) for broker in drain.outgoing)


def _put_off(situation: Situation, verdict: Verdict) -> Verdict:
    """A drain of which nothing can move, or has no plan, as somebody who is down is to get a new VM: that one is made
    first. Of one that waits for a target nothing runs."""
    drain, stands = situation.view.moves.drain, verdict.wait is not None and verdict.wait.reason.drain_stands
    if drain is None or not stands or not is_to_be_replaced_first(situation):
        return verdict
    return record(f"{verdict.sentence}; who is down is replaced first", facts.DrainAbandoned(drain.id, "put off"))


def _repair(situation: Situation, below: Iterable[Rung]) -> Verdict | None:
    """What is mended though nothing voluntary may begin; nobody below who counts on the rest is asked."""
    mending = replace(situation, repairs_only=True)
    found = (rung.step(mending) for rung in below if rung.begins is Begins.BOTH)
    return next((verdict for verdict in found if verdict is not None), None)
