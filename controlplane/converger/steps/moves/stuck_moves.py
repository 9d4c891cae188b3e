"""Moves that hang: told why, and cured by the gentlest thing that is safe (rule F10, docs/operating.md).

    no progress for healing.hungAfter -> diagnosis -> raise the throttle
                                                   -> take back ours, plan anew (`taking_back`)
                                                   -> another controller (`controllercure`)

So it goes for each batch of ours in hand (`movebatches`), of a drain, a rebalance or of replicas, by itself.

Moves of others are waited for and told; only a person has them taken back.
"""

from collections.abc import Sequence

from controlplane.cluster.holds import hold_on
from controlplane.converger.questions.moves.batches import MoveBatch, Of, batches_in_hand, repair_in_hand
from controlplane.converger.questions.moves.other_controller import other_controller
from controlplane.converger.questions.moves.stuck_moves import OTHER_CONTROLLER, hanging, judged_batch
from controlplane.converger.situation.decision import Decision, act, record
from controlplane.converger.situation.effects import CancelMoves
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.moves.taking_back import due_to_be_taken_back, take_back
from controlplane.converger.steps.quorum.controller_cure import reelection_due
from controlplane.converger.steps.rolls.drains import given_up_for
from controlplane.converger.steps.running.restarts import restart_in_hand_step
from events import facts
from planner.observed import KafkaSnapshot
from planner.quantities import named
from planner.stuck_moves import (
    MovePrescription,
    may_take_back,
)


def stuck_moves_step(situation: Situation) -> Decision | None:
    """Begins one cure, or sees one through. None when nothing hangs or nothing is to be done about it now."""
    view, kafka = situation.view, situation.seen.fresh_kafka(situation.now)
    if kafka is None:
        return None
    asked = _asked_of_others(situation, kafka)
    if asked is not None:
        return asked
    reelection = reelection_due(situation, kafka)
    if reelection is not None:
        return reelection
    if view.settings.restarts:
        return restart_in_hand_step(situation) if view.moves.drain is not None else None
    if view.moves.drain is not None and given_up_for(situation, view.moves.drain, kafka):
        return None  # a VM that is gone is the drain's own affair: it sends elsewhere what may not be taken back
    return _cured(situation, kafka, batches_in_hand(situation, kafka))


def stuck_moves_repair_step(situation: Situation) -> Decision | None:
    """The same of replicas that are made anew: whatever is below them waits for them."""
    view, kafka = situation.view, situation.seen.fresh_kafka(situation.now)
    batch = repair_in_hand(view, kafka) if kafka is not None else None
    if kafka is None or batch is None:
        return None
    if view.settings.restarts:
        return restart_in_hand_step(situation) if view.moves.stuck.cured == batch.id else None
    return _cured(situation, kafka, (batch,))


def _cured(situation: Situation, kafka: KafkaSnapshot, batches: Sequence[MoveBatch]) -> Decision | None:
    """Sees the cure in hand of one of these through, or begins the first that is due."""
    for batch in batches:
        if batch.is_taken_back(situation.view):
            return take_back(situation, batch, kafka)
    found = hanging(situation, kafka)
    for batch in batches if found else ():
        cure, _ = judged_batch(situation, kafka, batch, found)
        decision = _begin(situation, batch, kafka, cure) if cure is not None else None
        if decision is not None:
            return decision
    return None


def _asked_of_others(situation: Situation, kafka: KafkaSnapshot) -> Decision | None:
    """What people asked about moves of others: taken back where that is safe, forgotten once they have ended. What
    Kafka does not take back at once is asked again later, and nothing else waits for it."""
    view = situation.view
    asked = {**view.moves.stuck.cancelling, **view.moves.stuck.adopted}
    if not asked:
        return None
    moving = {str(p.name): p for p in kafka.moving()}
    over = tuple(sorted(name for name in asked if name not in moving))
    if over:
        return record(f"moves of others that people asked about have ended: {named(over)}", facts.MovesSettled(over))
    wanted = [moving[name] for name in sorted(view.moves.stuck.cancelling)]
    safe = due_to_be_taken_back(situation, [p.name for p in wanted if may_take_back(p)])
    if safe:
        return act(f"taking back {named(safe)}, {view.moves.stuck.cancelling[str(safe[0])]}", CancelMoves(safe))
    return None


def _begin(situation: Situation, batch: MoveBatch, kafka: KafkaSnapshot, cure: MovePrescription) -> Decision | None:
    why = f"{cure.moves[0].sentence}; {cure.reason}"
    key, beside = "", tuple[object, ...]()
    if cure.cure in OTHER_CONTROLLER:
        other = other_controller(situation, kafka, why)
        if other is None or hold_on(situation.view, situation.now) is not None:
            return None
        key, beside = other.key, (other.event,)
    event = facts.MoveCureRequested(
        drain=batch.id if batch.of is Of.DRAIN else "",
        cure=str(cure.cure),
        diagnosis=str(cure.diagnosis),
        partitions=tuple(str(h.name) for h in cure.moves),
        reason=why,
        key=key,
        follower_rates={str(b): rate for b, rate in sorted(cure.follower_rates.items())},
        leader_rates={str(b): rate for b, rate in sorted(cure.leader_rates.items())},
        brokers=tuple(sorted({h.broker for h in cure.moves if h.broker >= 0})),
        batch="" if batch.of is Of.DRAIN else batch.id,
    )
    return record(f"{len(cure.moves)} moves hang ({cure.diagnosis}): {why}", event, *beside)
