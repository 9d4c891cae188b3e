"""Moves that hang: told why, and cured by the gentlest thing that is safe (rule F10, docs/operating.md).

    no progress for healing.hungAfter -> diagnosis -> raise the throttle
                                                   -> take back ours, plan anew (a dead target gets a new VM)
                                                   -> another controller (`controllercure`)

Moves of others are waited for and told; only a person has them taken back.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from controlplane.bandwidth import nic_bytes_per_s
from controlplane.converger.backoff import delay_s
from controlplane.converger.controllercure import other_controller, reelection_due
from controlplane.converger.deadends import detours
from controlplane.converger.deadtargets import dead_target, new_vm_for
from controlplane.converger.drainprogress import is_full
from controlplane.converger.drains import given_up_for
from controlplane.converger.pausing import hold_on
from controlplane.converger.restarts import restart_in_hand_step
from controlplane.converger.verdict import CancelMoves, Reassign, Situation, Verdict, act, record, wait
from controlplane.view import ClusterView, DrainView, InstanceView
from events import facts
from planner.drain.residual import residual
from planner.heartbeats import HEARTBEAT_TOPIC
from planner.hungmoves import (
    Diagnosis,
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
from planner.observed import KafkaSnapshot, PartitionSeen, TopicPartition
from planner.quantities import named

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
    if view.drain is None:
        return None
    if view.restarts:
        return restart_in_hand_step(situation)
    if given_up_for(situation, view.drain, kafka):
        return None  # a VM that is gone is the drain's own affair: it sends elsewhere what may not be taken back
    if _is_taking_back(view, view.drain):
        return _take_back(situation, view.drain, kafka)
    found = hung_of(situation)
    return None if found.prescription is None else _begin(situation, view.drain, kafka, found.prescription)


def hung_of(situation: Situation) -> Hung:
    """What hangs, whoever began it, and what is to be done about what is ours."""
    document, kafka = situation.view.document, situation.seen.fresh_kafka(situation.now)
    if document is None or kafka is None or not situation.seen.pulses:  # most ticks: nothing moves
        return Hung()
    policy = move_policy(situation)
    around = Surroundings(situation.seen.traffic.write_bytes_per_s, _disk_trouble(situation, kafka))
    found = hung_moves(kafka, situation.seen.pulses, around, policy.after)
    if not found:
        return Hung()
    mine = {p.name for p in _ours(situation, kafka)}
    known = [h for h in found if h.name in mine and not _is_cared_for(situation, h)]
    prescription, refusal = prescribe_moves(known, kafka, situation.view.moves.cures, policy)
    if prescription is not None and prescription.cure in _OTHER_CONTROLLER:
        refusal = situation.allowance.cures.why_none(situation.now)
        prescription = None if refusal else prescription
    return Hung(found, prescription, refusal)


def strangers_moves(situation: Situation) -> tuple[StrangersMove, ...]:
    """Running moves that are not of the plan in hand, the oldest first."""
    kafka = situation.seen.kafka
    if kafka is None or not kafka.moving():
        return ()
    mine = {p.name for p in _ours(situation, kafka)} | _rebalancing(situation, kafka) | _of_topics(situation)
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
    safe = _due(situation, [p.name for p in wanted if may_take_back(p)])
    if safe:
        return act(f"taking back {named(safe)}, {view.moves.cancelling[str(safe[0])]}", CancelMoves(safe))
    return None


def _due(situation: Situation, names: Sequence[TopicPartition]) -> tuple[TopicPartition, ...]:
    """Those that were not asked to be taken back a moment ago."""
    tried = situation.seen.taken_back
    waits = {n for n in names if n in tried and situation.seconds_since(tried[n].asked_at) < delay_s(tried[n].asked)}
    return tuple(n for n in names if n not in waits)


def _begin(situation: Situation, drain: DrainView, kafka: KafkaSnapshot, cure: MovePrescription) -> Verdict | None:
    why = f"{cure.moves[0].sentence}; {cure.reason}"
    key, beside = "", tuple[object, ...]()
    if cure.cure in _OTHER_CONTROLLER:
        other = other_controller(situation, kafka, why)
        if other is None or hold_on(situation.view, situation.now) is not None:
            return None
        key, beside = other.key, (other.event,)
    event = facts.MoveCureRequested(
        drain=drain.id,
        cure=str(cure.cure),
        diagnosis=str(cure.diagnosis),
        partitions=tuple(str(h.name) for h in cure.moves),
        reason=why,
        key=key,
        follower_rates={str(b): rate for b, rate in sorted(cure.follower_rates.items())},
        leader_rates={str(b): rate for b, rate in sorted(cure.leader_rates.items())},
        brokers=tuple(sorted({h.broker for h in cure.moves if h.broker >= 0})),
    )
    return record(f"{len(cure.moves)} moves hang ({cure.diagnosis}): {why}", event, *beside)


def _is_taking_back(view: ClusterView, drain: DrainView) -> bool:
    moves = view.moves
    return bool(moves.taking_back) and (moves.cured, moves.tries) == (drain.id, drain.tries)


def _take_back(situation: Situation, drain: DrainView, kafka: KafkaSnapshot) -> Verdict:
    """Cancels what hangs; then the drain is planned anew, or put off where its target needs a new VM first."""
    moves = situation.view.moves
    running = [p for p in kafka.moving() if str(p.name) in moves.taking_back or _shares_the_dead(situation, p)]
    safe = [p.name for p in running if may_take_back(p)]
    due = _due(situation, safe)
    if due:
        return act(f"taking back {len(due)} moves that hang: {named(due)}; {moves.why}", CancelMoves(due))
    if safe:
        return _not_yet(situation, safe)
    if running:
        return _go_elsewhere(situation, kafka, running)
    left = ""
    if (dead := _dead_target(situation, kafka)) is not None:
        new_vm = new_vm_for(situation, kafka, dead, moves.cured_at or situation.now, moves.why)
        if not isinstance(new_vm, str):
            put_off = facts.DrainAbandoned(drain.id, f"broker {dead.service_id} does not serve: {moves.why}")
            return record(f"the drain is put off and {dead.key} replaced first: {moves.why}", put_off, *new_vm)
        left = f"; {dead.key} gets no new VM: {new_vm}"
    why = f"{len(moves.taking_back)} moves hung: {moves.why}{left}"
    again = facts.DrainPlanFailed(drain.id, why, infeasible=False)
    return record(f"planning again, {len(moves.taking_back)} moves were taken back: {moves.why}{left}", again)


def _not_yet(situation: Situation, names: Sequence[TopicPartition]) -> Verdict:
    tried = situation.seen.taken_back
    said = next((tried[n].refused for n in names if tried[n].refused), "")
    why = f": {said}" if said else ""
    sentence = (
        f"{len(names)} moves that hang were to be taken back and still run{why}; asked again, every 5 min at last"
    )
    return wait("TakingBack", sentence)


def _go_elsewhere(situation: Situation, kafka: KafkaSnapshot, left: Sequence[PartitionSeen]) -> Verdict:
    """Of moves that may not be taken back: a broker that serves gets what one that does not was to have."""
    live = kafka.live_brokers()
    dead = {b for p in left for b in p.adding if b not in live and b not in p.isr}
    around = detours(situation.view, kafka, [p for p in left if dead.intersection(p.target)], dead)
    if around:
        sentence = f"{len(around)} moves that hang and cannot be taken back go elsewhere: {named(tuple(around))}"
        return act(f"{sentence}; {situation.view.moves.why}", Reassign(around))
    planned = {p.name for p in _ours(situation, kafka)}
    stuck = next((p.name for p in left if p.name in planned), None)
    if stuck is None:
        return wait("DrainMoves", f"{len(left)} moves that hung are made elsewhere", patience_s=3600)
    sentence = f"{stuck} hangs and cannot be taken back: too few of its replicas before are in sync"
    return wait("ReassignmentStuck", sentence, patience_s=0)


def _shares_the_dead(situation: Situation, partition: PartitionSeen) -> bool:
    """A move of ours that is younger, and waits for the same dead broker."""
    kafka, moves = situation.seen.kafka, situation.view.moves
    if kafka is None or moves.diagnosis != Diagnosis.TARGET_DEAD:
        return False
    waits = set(partition.adding).intersection(moves.brokers) - kafka.live_brokers()
    return bool(waits) and any(p.name == partition.name for p in _ours(situation, kafka))


def _dead_target(situation: Situation, kafka: KafkaSnapshot) -> InstanceView | None:
    moves = situation.view.moves
    return dead_target(situation, kafka, moves.brokers) if moves.diagnosis == Diagnosis.TARGET_DEAD else None


def _ours(situation: Situation, kafka: KafkaSnapshot) -> tuple[PartitionSeen, ...]:
    """Partitions moving as a plan in hand wants them; none where there is no plan to be read."""
    drain, plan, seen = situation.view.drain, situation.seen.plan, situation.seen
    rebalance, spread = situation.view.rebalance, situation.seen.rebalance_plan
    ours: list[PartitionSeen] = []
    if drain is not None and plan is not None and seen.plan_sha256 == drain.plan_sha256:
        ours += (kafka.by_name[m.name] for m in residual(plan, kafka, drain.outgoing).running)
    if rebalance is not None and spread is not None and seen.rebalance_sha256 == rebalance.plan_sha256:
        ours += (kafka.by_name[m.name] for m in residual(spread.copies, kafka, ()).running)
    return tuple(ours)


def _rebalancing(situation: Situation, kafka: KafkaSnapshot) -> set[TopicPartition]:
    """Partitions moving as the rebalance in hand wants them."""
    plan = situation.seen.rebalance_plan
    return set() if plan is None else {m.name for m in residual(plan.copies, kafka, ()).running}


def _is_cared_for(situation: Situation, hung: HungMove) -> bool:
    """A target whose VM is gone is the drain's own business: it takes its moves back at once."""
    return any(i.lost for i in situation.view.brokers() if i.service_id == hung.broker)


def move_policy(situation: Situation) -> MovePolicy:
    """What the spec lets be done about moves that hang, and elections."""
    document = situation.view.document
    if document is None:
        return MovePolicy()
    spec, cap = document.spec.healing, document.spec.rollout.throttle_mib_per_s
    ceiling = {-1: cap * MIB} if cap else _bandwidths(situation.view)
    return MovePolicy(timedelta(seconds=spec.hung_after_s), spec.per_day, spec.restart, ceiling)


def _bandwidths(view: ClusterView) -> dict[int, int]:
    clouds = {p.name: p.place.cloud for p in view.document.spec.pools} if view.document else {}
    found = {}
    for instance in view.brokers():
        rate = nic_bytes_per_s(clouds.get(instance.planned.pool, ""), instance.planned.shape)
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
