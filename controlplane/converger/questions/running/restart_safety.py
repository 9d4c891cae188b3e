"""Is it safe to start this service anew now? Pure: the question the converger asks before each restart, and the answer
`kedge restart-check` shows, partition by partition.

A broker may stop when as many others serve as `rollout.maxUnavailable` wants, everybody else is in every ISR it belongs
to (the one restarted before it, too), no partition it holds is being moved, and none would fall below its min ISR. A
controller may when the other voters keep up and are a majority without it. Leadership is given back before anything new
begins (`housekeeping`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.rolls import stop_gates
from controlplane.converger.questions.services.cluster_healthy import out_of_sync
from controlplane.converger.questions.services.registrations import is_marked_misregistered
from controlplane.converger.questions.unavailability import may_go_away
from controlplane.converger.situation.decision import Wait
from controlplane.converger.situation.situation import Situation
from controlplane.kafka.gates import Gate, below_min_isr, falling_without
from planner.observed import KafkaSnapshot, PartitionSeen


@dataclass(frozen=True, slots=True)
class BlockingPartition:
    """A partition that is in the way, and why."""

    partition: PartitionSeen
    why: str


@dataclass(frozen=True, slots=True)
class RestartSafety:
    """The answer for one service. `waits` is what a restart would wait for, None where nothing is in the way; its next
    command is what a person can do where waiting does not help. `blocking` are all partitions in the way.
    """

    key: str
    gate: Gate
    waits: Wait | None = None
    blocking: tuple[BlockingPartition, ...] = ()

    @property
    def is_safe(self) -> bool:
        return self.waits is None


def restart_safety(situation: Situation, kafka: KafkaSnapshot, instance: InstanceView) -> RestartSafety:
    """The answer by this metadata, however old it is: how young it has to be is the caller's to say."""
    room = may_go_away(situation, kafka, instance) if instance.is_broker else None
    if room is not None and not room.open:
        blocking = _blocking(situation, kafka, instance.service_id)
        return RestartSafety(instance.key, room, Wait(WaitReason.MAX_UNAVAILABLE), blocking)
    stumbling = stop_gates.service_down(situation, kafka, instance)
    if stumbling:
        return RestartSafety(instance.key, Gate(False, stumbling), Wait(WaitReason.BROKER_DOWN))
    if not instance.is_broker:
        gate = stop_gates.controller_gate(situation, kafka, instance)
        return RestartSafety(instance.key, gate, None if gate.open else Wait(WaitReason.QUORUM_GATE))
    hosted = kafka.hosted_by(instance.service_id)
    moving = [p for p in hosted if p.is_moving]
    if moving:
        return _moving(instance, moving, of=len(hosted))
    gate = _broker_gate(situation, kafka, instance)
    if gate.open:
        return RestartSafety(instance.key, gate)
    blocking = _blocking(situation, kafka, instance.service_id)
    return RestartSafety(instance.key, gate, Wait(WaitReason.MIN_ISR_GATE, _help(situation, blocking)), blocking)


def _broker_gate(situation: Situation, kafka: KafkaSnapshot, instance: InstanceView) -> Gate:
    """One that runs and that Kafka has otherwise than it should is started anew for just that: its own replicas are out
    of sync because of it, and a broker that is not registered has none that serve."""
    if is_marked_misregistered(situation, kafka, instance):
        return stop_gates.unhealthy_broker_gate(situation, kafka, instance)
    return stop_gates.broker_gate(situation, kafka, instance)


def _help(situation: Situation, blocking: Sequence[BlockingPartition]) -> str:
    """For topics that no waiting helps: they have no replica to spare even when all are in sync."""
    thin = sorted({b.partition.name.topic for b in blocking if len(b.partition.target) <= b.partition.min_isr})
    if not thin:
        return ""
    cluster = situation.view.name
    return f"list {', '.join(thin)} under rollout.allowUnavailable or give it another replica (cluster {cluster})"


def _moving(instance: InstanceView, moving: Sequence[PartitionSeen], *, of: int) -> RestartSafety:
    move = "is being moved" if len(moving) == 1 else "are being moved"
    sentence = f"{len(moving)} of {of} partitions on broker {instance.service_id} {move}, {moving[0].name} among them"
    blocking = tuple(BlockingPartition(p, "is being moved") for p in moving)
    return RestartSafety(instance.key, Gate(False, sentence), Wait(WaitReason.FOREIGN_REASSIGNMENT), blocking)


def _blocking(situation: Situation, kafka: KafkaSnapshot, broker: int) -> tuple[BlockingPartition, ...]:
    """Each partition once, with the worst that is to be said of it."""
    hosted = [p for p in kafka.hosted_by(broker) if p.name.topic not in situation.excused_topics]
    said = {p.name: BlockingPartition(p, "has a replica out of sync") for p in out_of_sync(kafka)}
    said |= {p.name: BlockingPartition(p, "would fall below its min ISR") for p in falling_without(hosted, broker)}
    said |= {p.name: BlockingPartition(p, "is below its min ISR already") for p in below_min_isr(hosted)}
    return tuple(said[name] for name in sorted(said, key=str))
