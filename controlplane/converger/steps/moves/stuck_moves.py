"""Moves that hang: told why, and cured by the gentlest thing that is safe (rule F10, docs/operating.md).

    no progress for healing.hungAfter -> diagnosis -> raise the throttle
                                                   -> take back ours, plan anew (`taking_back`)
                                                   -> another controller (`controllercure`)

So it goes for each batch of ours in hand (`movebatches`), of a drain, a rebalance or of replicas, by itself.

Moves of others are waited for and told; only a person has them taken back.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from controlplane.cluster.bandwidth import nic_bytes_per_s
from controlplane.cluster.holds import hold_on
from controlplane.cluster.throttle_cap import cap_mib_per_s
from controlplane.cluster.view import ClusterView
from controlplane.converger.questions.moves.batches import MoveBatch, Of, batches_in_hand, repair_in_hand
from controlplane.converger.questions.rolls.drain_progress import is_full
from controlplane.converger.situation.decision import CancelMoves, Situation, Verdict, act, record
from controlplane.converger.steps.moves.taking_back import due_to_be_taken_back, take_back
from controlplane.converger.steps.quorum.controller_cure import other_controller, reelection_due
from controlplane.converger.steps.rolls.drains import given_up_for
from controlplane.converger.steps.running.restarts import restart_in_hand_step
from controlplane.runtime.once import once
from events import facts
from planner.drain.residual import residual
from planner.heartbeats import HEARTBEAT_TOPIC
from planner.observed import KafkaSnapshot, PartitionSeen, TopicPartition
from planner.quantities import named
from planner.stuck_moves import (
    Hung,
    HungMove,
    MoveCure,
    MovePolicy,
    MovePrescription,
    Surroundings,
    hung_moves,
    may_take_back,
    prescribe_moves,
)

MIB = 1024 * 1024

STRANGERS_GRACE = timedelta(minutes=10)
"""How long a move of somebody else's is nobody's business."""

NIC_FRACTION = 0.8
"""Without `rollout.throttleMibPerS` a throttle is raised to this share of a broker's bandwidth at most."""

_OTHER_CONTROLLER = (MoveCure.RESTART_CONTROLLER, MoveCure.REELECT_CONTROLLER)
_DISK_FINDINGS = frozenset({"log_dir_failed", "disk_full"})


@dataclass(frozen=True, slots=True)
class StrangersMove:
    """A running move that no plan of ours names, and for how long it has been seen. `asked` is what a person wants of
    it, "" where nobody asked."""

    partition: PartitionSeen
    age: timedelta
    asked: str = ""


def hung_step(situation: Situation) -> Verdict | None:
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
    if view.restarts:
        return restart_in_hand_step(situation) if view.drain is not None else None
    if view.drain is not None and given_up_for(situation, view.drain, kafka):
        return None  # a VM that is gone is the drain's own affair: it sends elsewhere what may not be taken back
    return _cured(situation, kafka, batches_in_hand(situation, kafka))


def hung_repair_step(situation: Situation) -> Verdict | None:
    """The same of replicas that are made anew: whatever is below them waits for them."""
    view, kafka = situation.view, situation.seen.fresh_kafka(situation.now)
    batch = repair_in_hand(view, kafka) if kafka is not None else None
    if kafka is None or batch is None:
        return None
    if view.restarts:
        return restart_in_hand_step(situation) if view.moves.cured == batch.id else None
    return _cured(situation, kafka, (batch,))


@once
def hung_of(situation: Situation) -> Hung:
    """What hangs, whoever began it, and what is to be done about what is ours."""
    kafka = situation.seen.fresh_kafka(situation.now)
    found = _hanging(situation, kafka) if kafka is not None else ()
    if kafka is None or not found:
        return Hung()
    judged = [_judged(situation, kafka, b, found) for b in batches_in_hand(situation, kafka)]
    prescription = next((p for p, _ in judged if p is not None), None)
    refusal = next((why for _, why in judged if why), "")
    return Hung(found, prescription, "" if prescription is not None else refusal)


def _hanging(situation: Situation, kafka: KafkaSnapshot) -> tuple[HungMove, ...]:
    if situation.view.document is None or not situation.seen.pulses:  # most ticks: nothing moves
        return ()
    around = Surroundings(situation.seen.traffic.write_bytes_per_s, _disk_trouble(situation, kafka))
    return hung_moves(kafka, situation.seen.pulses, around, move_policy(situation).after)


def _cured(situation: Situation, kafka: KafkaSnapshot, batches: Sequence[MoveBatch]) -> Verdict | None:
    """Sees the cure in hand of one of these through, or begins the first that is due."""
    for batch in batches:
        if batch.is_taken_back(situation.view):
            return take_back(situation, batch, kafka)
    found = _hanging(situation, kafka)
    for batch in batches if found else ():
        cure, _ = _judged(situation, kafka, batch, found)
        verdict = _begin(situation, batch, kafka, cure) if cure is not None else None
        if verdict is not None:
            return verdict
    return None


def _judged(
    situation: Situation, kafka: KafkaSnapshot, batch: MoveBatch, found: Sequence[HungMove]
) -> tuple[MovePrescription | None, str]:
    """The cure of what hangs of this batch and of no other, or why it has none."""
    mine = {p.name: p for p in batch.running}
    known = [
        replace(h, may_take_back=batch.may_take_back(mine[h.name]))
        for h in found
        if h.name in mine and not _is_cared_for(situation, h)
    ]
    prescription, refusal = prescribe_moves(known, kafka, situation.view.moves.cures, move_policy(situation))
    if prescription is not None and prescription.cure in _OTHER_CONTROLLER:
        refusal = situation.allowance.cures.why_none(situation.now)
        prescription = None if refusal else prescription
    return prescription, refusal


def strangers_moves(situation: Situation) -> tuple[StrangersMove, ...]:
    """Running moves that are not of the plan in hand, the oldest first."""
    kafka = situation.seen.kafka
    if kafka is None or not kafka.moving():
        return ()
    mine = {p.name for b in batches_in_hand(situation, kafka) for p in b.running}
    mine |= _rebalancing(situation, kafka) | _of_topics(situation)
    mine |= {p.name for p in kafka.moving() if p.name.topic == HEARTBEAT_TOPIC}
    moves, pulses = situation.view.moves, situation.seen.pulses
    found = [
        StrangersMove(
            partition=p,
            age=kafka.at - pulses[p.name].began if p.name in pulses else timedelta(0),
            asked=moves.cancelling.get(str(p.name), "") or moves.adopted.get(str(p.name), ""),
        )
        for p in kafka.moving()
        if p.name not in mine
    ]
    return tuple(sorted(found, key=lambda s: (-s.age, s.partition.name)))


def _of_topics(situation: Situation) -> set[TopicPartition]:
    """Partitions of the batch of replicas in hand."""
    batch = situation.view.topics.replication
    return {TopicPartition(m.topic, m.partition) for m in batch.moves} if batch else set()


def refused_to_take_back(situation: Situation) -> str:
    """Moves of others that a person wants taken back and Kafka does not: its words, "" where there are none."""
    tried = situation.seen.taken_back
    wanted = (t for name, t in sorted(tried.items()) if str(name) in situation.view.moves.cancelling)
    return next((t.refused for t in wanted if t.refused), "")


def _asked_of_others(situation: Situation, kafka: KafkaSnapshot) -> Verdict | None:
    """What people asked about moves of others: taken back where that is safe, forgotten once they have ended. What
    Kafka does not take back at once is asked again later, and nothing else waits for it."""
    view = situation.view
    asked = {**view.moves.cancelling, **view.moves.adopted}
    if not asked:
        return None
    moving = {str(p.name): p for p in kafka.moving()}
    over = tuple(sorted(name for name in asked if name not in moving))
    if over:
        return record(f"moves of others that people asked about have ended: {named(over)}", facts.MovesSettled(over))
    wanted = [moving[name] for name in sorted(view.moves.cancelling)]
    safe = due_to_be_taken_back(situation, [p.name for p in wanted if may_take_back(p)])
    if safe:
        return act(f"taking back {named(safe)}, {view.moves.cancelling[str(safe[0])]}", CancelMoves(safe))
    return None


def _begin(situation: Situation, batch: MoveBatch, kafka: KafkaSnapshot, cure: MovePrescription) -> Verdict | None:
    why = f"{cure.moves[0].sentence}; {cure.reason}"
    key, beside = "", tuple[object, ...]()
    if cure.cure in _OTHER_CONTROLLER:
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


def _rebalancing(situation: Situation, kafka: KafkaSnapshot) -> set[TopicPartition]:
    """Partitions moving as the rebalance in hand wants them."""
    plan = situation.seen.rebalance_plan
    return set() if plan is None else {m.name for m in residual(plan.copies, kafka, ()).running}


def _is_cared_for(situation: Situation, hung: HungMove) -> bool:
    """A target whose VM is gone is the batch's own business: it takes its moves back at once."""
    return any(i.lost for i in situation.view.brokers() if i.service_id == hung.broker)


def move_policy(situation: Situation) -> MovePolicy:
    """What the spec lets be done about moves that hang, and elections."""
    document = situation.view.document
    if document is None:
        return MovePolicy()
    spec, cap = document.spec.healing, cap_mib_per_s(situation.view)
    ceiling = {-1: cap * MIB} if cap else _bandwidths(situation.view)
    return MovePolicy(timedelta(seconds=spec.hung_after_s), spec.per_day, spec.restart, ceiling)


def _bandwidths(view: ClusterView) -> dict[int, int]:
    clouds = {p.name: p.place.cloud for p in view.document.spec.pools} if view.document else {}
    found = {}
    for instance in view.brokers():
        rate = nic_bytes_per_s(clouds.get(instance.planned.pool, ""), instance.planned.shape, view.machines)
        if rate is not None:
            found[instance.service_id] = int(rate * NIC_FRACTION)
    return found


def _disk_trouble(situation: Situation, kafka: KafkaSnapshot) -> dict[int, str]:
    """By broker, what is wrong with its disk: by its own log directories, and by what its agent finds."""
    found = {b: "its disk is full" for b, d in kafka.log_dirs.items() if is_full(d)}
    for instance in situation.view.brokers():
        seen = situation.seen.reports.get(instance.key)
        service = seen.service("broker") if seen else None
        if seen is None or service is None or not seen.is_young(situation.now):
            continue
        for finding in service.findings:
            if finding.name.partition(":")[0] in _DISK_FINDINGS:
                found[instance.service_id] = f"{finding.name} ({finding.message})"
    return found
