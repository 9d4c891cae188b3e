"""The decision of one tick: pure, from what is recorded and what is seen to events, effects and one sentence.

A ladder of steps; the first that has something to say decides. Outcomes come before new intents, what is in hand
before what is next, and nothing below a rung happens while that rung waits.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

from controlplane.cluster.holds import hold_on
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.conditions.changes import condition_changes
from controlplane.converger.questions.rolls.handover_pairs import is_to_be_replaced_first
from controlplane.converger.questions.stages import held_by_stage
from controlplane.converger.questions.windows import Begins, begins, brings_spec, closed_for, waits
from controlplane.converger.situation.decision import Situation, Verdict, record, wait
from controlplane.converger.steps.chaos_end import chaos_step
from controlplane.converger.steps.clouds.intents import intent_step
from controlplane.converger.steps.clouds.maintenance import maintenance_step
from controlplane.converger.steps.clouds.networking import network_step
from controlplane.converger.steps.clouds.noticed import noticed_first
from controlplane.converger.steps.controllers.controller_moves import relief_step
from controlplane.converger.steps.controllers.cure import cure, is_lost, waits_for_metadata
from controlplane.converger.steps.controllers.migration import cut_step, migration_begin_step, migration_step
from controlplane.converger.steps.controllers.server_lists import server_list_step, server_move_step
from controlplane.converger.steps.deletion import deletion_step
from controlplane.converger.steps.health.demotions import demotion_step
from controlplane.converger.steps.health.healing import (
    healing_left_step,
    healing_step,
    lost_disk_first,
    restart_first,
    unstuck,
)
from controlplane.converger.steps.health.heartbeats import with_heartbeats
from controlplane.converger.steps.housekeeping import upkeep_step
from controlplane.converger.steps.moves.elections import election_step
from controlplane.converger.steps.moves.placements import (
    hot_broker_step,
    leader_order_step,
    lost_replicas_step,
    placement_step,
)
from controlplane.converger.steps.moves.rebalances import rebalance_in_hand_step, rebalance_step
from controlplane.converger.steps.moves.replication import replication_in_hand_step, replication_step
from controlplane.converger.steps.moves.stuck_moves import hung_repair_step, hung_step
from controlplane.converger.steps.quorum.external import external_quorum_step
from controlplane.converger.steps.quorum.voters import volume_step, voter_step, voters_left_step
from controlplane.converger.steps.rolls.abort import abortion_step
from controlplane.converger.steps.rolls.arrivals import arrival_step, founding_step, loss_step
from controlplane.converger.steps.rolls.cordons import cordon_step
from controlplane.converger.steps.rolls.departures import departure_step
from controlplane.converger.steps.rolls.drains import drain_step
from controlplane.converger.steps.rolls.evacuations import evacuation_step
from controlplane.converger.steps.rolls.external_brokers import (
    external_departure_step,
    external_drain_step,
    import_step,
)
from controlplane.converger.steps.rolls.finalisation import finalisation_step
from controlplane.converger.steps.rolls.growth import growth_step
from controlplane.converger.steps.rolls.handovers import handover_step
from controlplane.converger.steps.rolls.images import image_left_step, image_step
from controlplane.converger.steps.rolls.postponed import paced
from controlplane.converger.steps.rolls.reconfigurations import reconfiguration_step
from controlplane.converger.steps.rolls.refusals import refusal_left_step
from controlplane.converger.steps.rolls.replacements import replacement_step
from controlplane.converger.steps.rolls.stale_orders import beside_late_orders, late_order_step
from controlplane.converger.steps.rolls.tagging import tagging_step, tags_left_step
from controlplane.converger.steps.running.live_settings import settings_in_hand_step, settings_left_step, settings_step
from controlplane.converger.steps.running.restarts import restart_in_hand_step, restart_step
from controlplane.converger.steps.running.setting_trial import settings_watch_step
from controlplane.converger.steps.topics.beside import with_topics
from events import facts

Step = Callable[[Situation], Verdict | None]

IN_HAND: tuple[Step, ...] = (
    chaos_step,
    loss_step,
    volume_step,
    intent_step,
    import_step,
    founding_step,
    voter_step,
    reconfiguration_step,
    arrival_step,
    hung_repair_step,
    lost_replicas_step,
    hung_step,
    cordon_step,
    drain_step,
    late_order_step,
    departure_step,
    external_departure_step,
    abortion_step,
    handover_step,
    relief_step,
    restart_in_hand_step,
    cut_step,
    rebalance_in_hand_step,
    replication_in_hand_step,
    upkeep_step,
    settings_in_hand_step,
)
"""What goes on while a cluster is paused too: it ends what has begun, safely."""

LETS_NOTICES_PASS: frozenset[Step] = frozenset(
    {
        arrival_step,
        drain_step,
        departure_step,
        handover_step,
        restart_in_hand_step,
        rebalance_in_hand_step,
        replication_in_hand_step,
    }
)
"""What a VM that its cloud takes back in minutes does not wait for."""

WAITS_FOR_AGENTS: frozenset[Step] = frozenset({departure_step, restart_in_hand_step})
"""What waits until a service has obeyed."""

SEES_CONTROLLERS_IN: frozenset[Step] = frozenset({arrival_step, departure_step, handover_step, relief_step})
"""What goes on of it though something before it waits for metadata that a lost quorum keeps from everybody."""

NEXT: tuple[Step, ...] = (
    voters_left_step,
    migration_step,
    healing_step,
    election_step,
    maintenance_step,
    demotion_step,
    settings_step,
    growth_step,
    settings_watch_step,
    evacuation_step,
    external_quorum_step,
    network_step,
    image_step,
    server_list_step,
    replacement_step,
    refusal_left_step,
    settings_left_step,
    restart_step,
    healing_left_step,
    external_drain_step,
    server_move_step,
    migration_begin_step,
    tagging_step,
    finalisation_step,
    replication_step,
    placement_step,
    hot_broker_step,
    leader_order_step,
    rebalance_step,
    image_left_step,
    tags_left_step,
)
"""What begins something new."""


def decide(situation: Situation) -> Verdict:
    """The verdict of one tick, condition changes included. Pure: no clock, no randomness, no I/O."""
    verdict = with_heartbeats(situation, with_topics(situation, paced(situation, _ladder(situation))))
    if verdict.events:
        return verdict
    changes = condition_changes(situation, verdict)
    return Verdict(verdict.sentence, changes, verdict.effects, verdict.wait) if changes else verdict


def _ladder(situation: Situation) -> Verdict:
    view = situation.view
    if view.unreadable:
        sentence = f"history unreadable: {view.unreadable}"
        return wait(WaitReason.HISTORY_UNREADABLE, sentence, patience_s=0)
    if view.document is None or view.deleted:
        return Verdict("nothing declared" if view.document is None else "deleted")
    if view.held:
        return wait(WaitReason.HELD, f"held: {view.held}", next_command=f"kedge resume {view.name}", patience_s=0)
    deletion = deletion_step(situation)
    if deletion is not None:
        return deletion
    for number, step in enumerate(IN_HAND):
        verdict = step(situation)
        if verdict is not None:
            return _in_hand(situation, number, verdict)
    hold = hold_on(view, situation.now)
    if hold is not None:
        return wait(WaitReason.PAUSED, hold.sentence, next_command=hold.next_command, patience_s=0)
    lost = cure(situation, ()) if is_lost(situation) else None
    if lost is not None:
        return lost
    closed, later = closed_for(situation), held_by_stage(situation)
    for number, step in enumerate(NEXT):
        verdict = step(situation)
        if verdict is None:
            continue
        if verdict.wait is not None and (made := noticed_first(situation)) is not None:
            return made
        shut = closed or (later if brings_spec(step.__name__) else None)
        if shut is None or not waits(step.__name__, verdict, view):
            return verdict
        return _repair(situation, NEXT[number:]) or shut.verdict(verdict, situation.now)
    return Verdict(f"converged at generation {view.generation}: {len(view.alive())} VMs")


def _in_hand(situation: Situation, number: int, verdict: Verdict) -> Verdict:
    """What comes of the verdict of this step: where it waits, somebody else may have to be helped first."""
    if waits_for_metadata(verdict):
        if (mended := unstuck(situation)) is not None:
            return mended
        if is_lost(situation):
            below = [s for s in IN_HAND[number + 1 :] if s in SEES_CONTROLLERS_IN]
            return cure(situation, below) or verdict
    if IN_HAND[number] in LETS_NOTICES_PASS and verdict.wait is not None:
        made = noticed_first(situation)
        if made is not None:
            return made
    if _has_no_source(situation, IN_HAND[number], verdict) and (begun := _restarted_first(situation)) is not None:
        return begun
    if _needs_the_sick(IN_HAND[number], verdict):
        first = lost_disk_first(situation) or _restarted_first(situation)
        return first or _explained(situation, _put_off(situation, verdict))
    if IN_HAND[number] in WAITS_FOR_AGENTS:
        verdict = beside_late_orders(situation, verdict)
    return _explained(situation, verdict)


def _explained(situation: Situation, verdict: Verdict) -> Verdict:
    """Who waits at a gate for somebody to be back does not hide that the restart of one has failed: that is what keeps
    the cluster, and says what is done about it."""
    if not situation.view.restarts or verdict.wait is None or not verdict.wait.reason.is_gate or verdict.effects:
        return verdict
    restart = restart_in_hand_step(situation)
    failed = restart is not None and restart.wait is not None and restart.wait.reason == WaitReason.RESTART_FAILED
    return restart if restart is not None and failed else verdict


def _restarted_first(situation: Situation) -> Verdict | None:
    """A restart that is a cure begins, or is seen through, before what waits for it goes on."""
    if not situation.view.restarts:
        return restart_first(situation)
    seen = restart_in_hand_step(situation)
    return seen if seen is not None and seen.events else None


def _has_no_source(situation: Situation, step: Step, verdict: Verdict) -> bool:
    """Whether a drain waits for what nobody who serves has a copy of: who has it may be the very one it empties."""
    drain, kafka = situation.view.drain, situation.seen.fresh_kafka(situation.now)
    if verdict.wait is None or drain is None or kafka is None or step not in (hung_step, drain_step):
        return False
    return any(kafka.may_have_only_copy(broker) for broker in drain.outgoing)


def _put_off(situation: Situation, verdict: Verdict) -> Verdict:
    """A drain of which nothing can move, or has no plan, as somebody who is down is to get a new VM: that one is made
    first. Of one that waits for a target nothing runs."""
    drain, stands = situation.view.drain, verdict.wait is not None and verdict.wait.reason.drain_stands
    if drain is None or not stands or not is_to_be_replaced_first(situation):
        return verdict
    return record(f"{verdict.sentence}; who is down is replaced first", facts.DrainAbandoned(drain.id, "put off"))


def _needs_the_sick(step: Step, verdict: Verdict) -> bool:
    """Whether it may wait for one that is ill, whom nobody would cure meanwhile: a gate that wants all in sync, or a
    drain for which no plan can be had."""
    if verdict.wait is None:
        return False
    return step is handover_step or (step is drain_step and verdict.wait.reason.drain_stands)


def _repair(situation: Situation, steps: Iterable[Step]) -> Verdict | None:
    """What is mended though nothing voluntary may begin; nobody below who counts on the rest is asked."""
    mending = replace(situation, repairs_only=True)
    found = (step(mending) for step in steps if begins(step.__name__) is Begins.BOTH)
    return next((verdict for verdict in found if verdict is not None), None)
