"""The condition `Misplaced`: replicas that are not where they should be by rules nobody may break, or that somebody is
moving to such a place by hand; by name, with what is done about it.
"""

from controlplane.cluster.holds import hold_on
from controlplane.cluster.work_in_hand import has_work
from controlplane.converger.questions.moves.placement_waits import why_apart_waits, why_no_repair
from controlplane.converger.questions.moves.placement_work import ground_of, topic_policy
from controlplane.converger.questions.moves.stuck_moves import foreign_moves
from controlplane.converger.questions.windows import closed_for
from controlplane.converger.situation.placement import PlacementSeen
from controlplane.converger.situation.situation import Situation
from events import facts
from planner.observed import KafkaSnapshot
from planner.placement.corrections import Corrections
from planner.placement.deviations import Deviation, Rule, judged

MISPLACED = "Misplaced"

_NAMED = 3
_IN_PLACE = facts.ConditionChanged(MISPLACED, False, "Free", "")


def misplaced_condition(situation: Situation) -> facts.ConditionChanged | None:
    """None while nobody knows, or while something is in hand that may mend it."""
    seen = situation.seen
    kafka = seen.fresh_kafka(situation.now)
    if kafka is None:
        return None
    by_hand = _by_hand(situation, kafka) if seen.moves.pulses else ()
    if by_hand:
        message = f"{_deviations_text(by_hand)}. It is waited for. Next: kedge moves {situation.view.name}"
        return facts.ConditionChanged(MISPLACED, True, "MovedByHand", message)
    if seen.placement is None:
        return None
    if not seen.placement.found:
        # What is on its way is not there yet.
        return _IN_PLACE if situation.view.topics.replication is None else None
    gone = tuple(d for d in seen.placement.found if d.rule is Rule.GONE)
    if gone:
        return _lost(situation, seen.placement, gone, kafka)
    return None if has_work(situation.view) else _apart(situation, seen.placement, kafka)


def _by_hand(situation: Situation, kafka: KafkaSnapshot) -> tuple[Deviation, ...]:
    """What moves that no plan of Kedge's names would break once they are over."""
    view = situation.view
    ground = ground_of(view, kafka)
    return tuple(
        broken
        for move in foreign_moves(situation)
        for broken in judged(
            move.partition, move.partition.target, ground, topic_policy(view, move.partition.name.topic)
        )
    )


def _lost(
    situation: Situation, seen: PlacementSeen, gone: tuple[Deviation, ...], kafka: KafkaSnapshot
) -> facts.ConditionChanged:
    why = why_no_repair(situation, kafka)
    return _condition(situation, "GoneBroker", gone, seen.repair, why, waits=False)


def _apart(situation: Situation, seen: PlacementSeen, kafka: KafkaSnapshot) -> facts.ConditionChanged:
    why = why_apart_waits(situation, seen, kafka)
    reason = "OutsideSet" if seen.found[0].rule is Rule.SETS else "SharedZone"
    return _condition(situation, reason, seen.found, seen.spread, why, waits=True)


def _condition(
    situation: Situation,
    reason: str,
    found: tuple[Deviation, ...],
    batch: Corrections,
    why: str,
    *,
    waits: bool,
) -> facts.ConditionChanged:
    """What is found, then what stands in the way: of those named, the first that has anything."""
    hold = hold_on(situation.view, situation.now)
    left = next((f"{d.name}: {batch.left[d.name]}" for d in found if d.name in batch.left), "")
    closed = closed_for(situation) if waits else None
    if why:
        then = f"Nothing begins now: {why}"
    elif hold is not None:
        then = f"Nothing begins now: {hold.sentence}"
    elif batch.moves and closed is not None:
        then = f"Nothing begins now: it {closed.words}"
    elif batch.moves:
        then = "They are moved in small batches once nothing else is to be done"
    else:
        then = f"None of them can be moved now. {left}"
    ways = (
        f"kedge describe {situation.view.name}" if reason == "GoneBroker" else f"kedge rebalance {situation.view.name}"
    )
    return facts.ConditionChanged(MISPLACED, True, reason, f"{_deviations_text(found)}. {then}. Next: {ways}")


def _deviations_text(found: tuple[Deviation, ...]) -> str:
    more = "; and others" if len(found) > _NAMED else ""
    return f"{'; '.join(d.words for d in found[:_NAMED])}{more}"
