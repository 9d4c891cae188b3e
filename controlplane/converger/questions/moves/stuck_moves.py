"""Moves that hang, whoever began them, moves of others, and what the spec lets be done about them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from controlplane.cluster.bandwidth import nic_bytes_per_s
from controlplane.cluster.throttle_cap import cap_mib_per_s
from controlplane.cluster.view import ClusterView
from controlplane.converger.questions.moves.batches import MoveBatch, batches_in_hand
from controlplane.converger.questions.rolls.drain_progress import is_full
from controlplane.converger.situation.situation import Situation
from controlplane.runtime.once import once
from events.quantities import MIB
from planner import heartbeats, observed, stuck_moves
from planner.drain.residual import residual

FOREIGN_GRACE = timedelta(minutes=10)
"""How long a move of somebody else's is nobody's business."""


NIC_FRACTION = 0.8
"""Without `rollout.throttleMibPerS` a throttle is raised to this share of a broker's bandwidth at most."""


OTHER_CONTROLLER = (stuck_moves.MoveCure.RESTART_CONTROLLER, stuck_moves.MoveCure.REELECT_CONTROLLER)


_DISK_FINDINGS = frozenset({"log_dir_failed", "disk_full"})


@dataclass(frozen=True, slots=True)
class ForeignMove:
    """A running move that no plan of ours names, and for how long it has been seen. `asked` is what a person wants of
    it, "" where nobody asked."""

    partition: observed.PartitionSeen
    age: timedelta
    asked: str = ""


@once
def hung_of(situation: Situation) -> stuck_moves.Hung:
    """What hangs, whoever began it, and what is to be done about what is ours."""
    kafka = situation.seen.fresh_kafka(situation.now)
    found = hanging(situation, kafka) if kafka is not None else ()
    if kafka is None or not found:
        return stuck_moves.Hung()
    judged = [judged_batch(situation, kafka, b, found) for b in batches_in_hand(situation, kafka)]
    prescription = next((p for p, _ in judged if p is not None), None)
    refusal = next((why for _, why in judged if why), "")
    return stuck_moves.Hung(found, prescription, "" if prescription is not None else refusal)


def hanging(situation: Situation, kafka: observed.KafkaSnapshot) -> tuple[stuck_moves.StuckMove, ...]:
    if situation.view.document is None or not situation.seen.moves.pulses:  # most ticks: nothing moves
        return ()
    around = stuck_moves.MoveContext(situation.seen.traffic.write_bytes_per_s, _disk_trouble(situation, kafka))
    return stuck_moves.hung_moves(kafka, situation.seen.moves.pulses, around, move_policy(situation).after)


def judged_batch(
    situation: Situation, kafka: observed.KafkaSnapshot, batch: MoveBatch, found: Sequence[stuck_moves.StuckMove]
) -> tuple[stuck_moves.MovePrescription | None, str]:
    """The cure of what hangs of this batch and of no other, or why it has none."""
    mine = {p.name: p for p in batch.running}
    known = [
        replace(h, may_take_back=batch.may_take_back(mine[h.name]))
        for h in found
        if h.name in mine and not _is_cared_for(situation, h)
    ]
    prescription, refusal = stuck_moves.prescribe_moves(
        known, kafka, situation.view.moves.stuck.cures, move_policy(situation)
    )
    if prescription is not None and prescription.cure in OTHER_CONTROLLER:
        refusal = situation.allowance.cures.why_none(situation.now)
        prescription = None if refusal else prescription
    return prescription, refusal


def foreign_moves(situation: Situation) -> tuple[ForeignMove, ...]:
    """Running moves that are not of the plan in hand, the oldest first."""
    kafka = situation.seen.kafka
    if kafka is None or not kafka.moving():
        return ()
    mine = {p.name for b in batches_in_hand(situation, kafka) for p in b.running}
    mine |= _rebalancing(situation, kafka) | _of_topics(situation)
    mine |= {p.name for p in kafka.moving() if p.name.topic == heartbeats.HEARTBEAT_TOPIC}
    stuck, pulses = situation.view.moves.stuck, situation.seen.moves.pulses
    found = [
        ForeignMove(
            partition=p,
            age=kafka.at - pulses[p.name].began if p.name in pulses else timedelta(0),
            asked=stuck.cancelling.get(str(p.name), "") or stuck.adopted.get(str(p.name), ""),
        )
        for p in kafka.moving()
        if p.name not in mine
    ]
    return tuple(sorted(found, key=lambda s: (-s.age, s.partition.name)))


def _of_topics(situation: Situation) -> set[observed.TopicPartition]:
    """Partitions of the batch of replicas in hand."""
    batch = situation.view.topics.replication
    return {observed.TopicPartition(m.topic, m.partition) for m in batch.moves} if batch else set()


def refused_to_take_back(situation: Situation) -> str:
    """Moves of others that a person wants taken back and Kafka does not: its words, "" where there are none."""
    tried = situation.seen.moves.taken_back
    wanted = (t for name, t in sorted(tried.items()) if str(name) in situation.view.moves.stuck.cancelling)
    return next((t.refused for t in wanted if t.refused), "")


def _rebalancing(situation: Situation, kafka: observed.KafkaSnapshot) -> set[observed.TopicPartition]:
    """Partitions moving as the rebalance in hand wants them."""
    plan = situation.seen.plans.rebalance
    return set() if plan is None else {m.name for m in residual(plan.copies, kafka, ()).running}


def _is_cared_for(situation: Situation, hung: stuck_moves.StuckMove) -> bool:
    """A target whose VM is gone is the batch's own business: it takes its moves back at once."""
    return any(i.lost for i in situation.view.brokers() if i.service_id == hung.broker)


def move_policy(situation: Situation) -> stuck_moves.MovePolicy:
    """What the spec lets be done about moves that hang, and elections."""
    document = situation.view.document
    if document is None:
        return stuck_moves.MovePolicy()
    spec, cap = document.spec.healing, cap_mib_per_s(situation.view)
    ceiling = {-1: cap * MIB} if cap else _bandwidths(situation.view)
    return stuck_moves.MovePolicy(timedelta(seconds=spec.hung_after_s), spec.per_day, spec.restart, ceiling)


def _bandwidths(view: ClusterView) -> dict[int, int]:
    clouds = {p.name: p.place.cloud for p in view.document.spec.pools} if view.document else {}
    found = {}
    for instance in view.brokers():
        rate = nic_bytes_per_s(clouds.get(instance.planned.pool, ""), instance.planned.shape, view.declaration.machines)
        if rate is not None:
            found[instance.service_id] = int(rate * NIC_FRACTION)
    return found


def _disk_trouble(situation: Situation, kafka: observed.KafkaSnapshot) -> dict[int, str]:
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
