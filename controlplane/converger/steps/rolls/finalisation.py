"""The end of a roll: soak, then raise the feature levels one by one, then say that the generation is reached."""

import sys

from controlplane.cluster.external_brokers import is_shared
from controlplane.cluster.folds.images import awaits_image
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.moves.rebalance_requests import asked_by_scale_up
from controlplane.converger.questions.quorum.protocol import target_of
from controlplane.converger.questions.quorum.seats import remembered, size_to_bring_back
from controlplane.converger.situation.decision import Decision, act, record, wait
from controlplane.converger.situation.effects import RaiseFeature, Unregister
from controlplane.converger.situation.situation import Situation
from controlplane.kafka.features import METADATA, Blocked, FeatureStep, metadata_level_of, next_feature_step
from controlplane.kafka.gates import Gate, hosts_nothing
from events import facts
from events.spec.releases import as_numbers
from planner.observed import KafkaSnapshot


def finalisation_step(situation: Situation) -> Decision | None:
    """Works only once every node is as the spec wants it. None when the generation is reached."""
    view = situation.view
    if view.document is None or (
        view.roll.converged == view.generation and not view.roll.recycling and not awaits_image(view)
    ):
        return None
    unsettled = [i for i in view.alive() if i.phase is not Phase.JOINED or i.lost]
    if unsettled:
        i = unsettled[0]
        return wait(
            WaitReason.NOT_SETTLED,
            f"generation {view.generation} not reached: {i.key} is {'lost' if i.lost else i.phase}",
        )
    kafka = situation.seen.fresh_kafka(situation.now)
    if kafka is None:
        return wait(WaitReason.KAFKA_UNKNOWN, "every VM is as declared; Kafka's metadata cannot be read")
    if is_shared(view):
        return _reached(view)  # its feature levels are raised by who runs its quorum
    if view.in_zookeeper_mode:
        return raise_step(situation) or _reached(view)
    if view.roll.finalising is not None:
        feature, level = view.roll.finalising
        seen = kafka.features.get(feature)
        if seen is not None and seen.finalised >= level:
            return record(f"{feature} is finalised at {level}", facts.FeatureFinalised(feature, level))
    target = view.document.spec.kafka.metadata_version or view.document.spec.kafka.version
    step = next_feature_step(kafka, metadata_level_of(target))
    if isinstance(step, Blocked):
        return wait(WaitReason.FINALISATION_BLOCKED, f"cannot raise the feature levels to {target}: {step.reason}")
    if step is None:
        return _reached(view)
    ghosts = _ghosts(view, kafka)
    if ghosts:
        ids = ", ".join(str(b) for b in ghosts)
        sentence = f"unregistering broker {ids}: gone for good, and Kafka asks it before {step.name} is raised"
        return act(sentence, *(Unregister(b) for b in ghosts))
    return _raise(situation, kafka, step, target)


def _reached(view: ClusterView) -> Decision:
    """Brokers that were added are due their share; in the same breath, so that no crash forgets it."""
    reached, due = facts.RecycleCompleted(view.generation), asked_by_scale_up(view)
    if due is None:
        return record(f"generation {view.generation} reached", reached)
    return record(f"generation {view.generation} reached; rebalancing: {due.reason}", reached, due)


def _raise(situation: Situation, kafka: KafkaSnapshot, step: FeatureStep, target: str) -> Decision:
    view = situation.view
    vetoes = _vetoes(view, step) if step.name == METADATA else []
    if vetoes:
        last = vetoes[-1].planned
        sentence = (
            f"{', '.join(f'controller {i.service_id} ({i.node})' for i in vetoes)} left the quorum with Kafka "
            f"{last.kafka_version} and stays registered: Kafka asks it before {METADATA} is raised to {step.level}"
        )
        size = size_to_bring_back(view)
        again = f"kedge apply, with {size} controllers until {target} is finalised: they come back under their ids"
        return wait(WaitReason.CONTROLLERS_REMEMBERED, sentence, next_command=again, patience_s=0)
    if view.roll.finalising == (step.name, step.level):
        return _ask_kafka(view, kafka, step)
    soak_s = view.document.spec.rollout.soak_s if view.document else 0.0
    left = soak_s - situation.seconds_since(view.roll.replaced_at) if view.roll.replaced_at else 0.0
    if left > 0:
        sentence = f"every VM is as declared; soaking {left:.0f} s more before {target} is finalised for good"
        return wait(WaitReason.SOAK, sentence, patience_s=soak_s + 30)
    requested = facts.FinalisationRequested(step.name, step.level, f"all nodes support {target}")
    return record(f"finalising {step.name} at {step.level}", requested)


def _ask_kafka(view: ClusterView, kafka: KafkaSnapshot, step: FeatureStep) -> Decision:
    """Kafka asks whoever is registered, alive or not. Who is dead and stays registered may be why it says no: that is
    told with it, and asked again all the same, as nobody else knows what such a broker supports."""
    raising = RaiseFeature(step.name, step.level)
    sentence = f"raising {step.name} to {step.level}"
    dead = _dead_registrations(view, kafka)
    if not dead:
        return act(sentence, raising)
    retired = {i.service_id: i.key for i in view.in_phase(Phase.RETIRED) if i.is_broker}
    named = "; ".join(_dead_words(b, retired.get(b, ""), hosts_nothing(kafka, b)) for b in dead[:3])
    more = f" and {len(dead) - 3} more" if len(dead) > 3 else ""
    next_command = f"kafka-cluster.sh unregister --id {dead[0]}, once nobody wants it back and no partition names it"
    sentence = f"{sentence}: Kafka asks dead brokers, too. {named}{more}"
    return wait(WaitReason.FINALISATION_BLOCKED, sentence, raising, next_command=next_command)


def _dead_registrations(view: ClusterView, kafka: KafkaSnapshot) -> list[int]:
    """Brokers that are registered and fenced, and no living VM has."""
    ours = {i.service_id for i in view.brokers()}
    return sorted(b for b, seen in kafka.brokers.items() if seen.fenced and b not in ours)


def _dead_words(broker: int, key: str, hosts: Gate) -> str:
    who = f"broker {broker} ({key}, retired)" if key else f"broker {broker}, which is none of this cluster's VMs,"
    return f"{who} is fenced and stays registered{'' if hosts.open else f': {hosts.reason}'}"


def _ghosts(view: ClusterView, kafka: KafkaSnapshot) -> list[int]:
    """Brokers whose VMs are retired, and which are registered all the same. Kafka 3.9 lists no fenced broker, so one
    that left while a cluster ran it in KRaft mode was taken for forgotten; Kafka 4 lists it, and raises no level."""
    retired = {i.service_id for i in view.in_phase(Phase.RETIRED) if i.is_broker}
    return [b for b in _dead_registrations(view, kafka) if b in retired and hosts_nothing(kafka, b).open]


def _vetoes(view: ClusterView, step: FeatureStep) -> list[InstanceView]:
    """Controllers Kafka remembers that would not support this level. One of a release nobody knows is left to Kafka."""
    return [i for i in remembered(view) if _level(i.planned.kafka_version) < step.level]


def _level(version: str) -> int:
    try:
        return metadata_level_of(version)
    except ValueError:
        return sys.maxsize


def raise_step(situation: Situation) -> Decision | None:
    """Raises the protocol version once every binary is new and the soak is over. None when it is where it should be.

    Asked only while every VM is as declared. The brokers' restarts follow, by the same gates as any other.
    """
    view = situation.view
    target = target_of(view.document) if view.document else view.quorum.protocol
    if as_numbers(target) <= as_numbers(view.quorum.protocol):
        return None
    soak_s = view.document.spec.rollout.soak_s if view.document else 0.0
    left = soak_s - situation.seconds_since(view.roll.replaced_at) if view.roll.replaced_at else 0.0
    if left > 0:
        sentence = f"every VM is as declared; soaking {left:.0f} s more before protocol {target} is set for good"
        return wait(WaitReason.SOAK, sentence, patience_s=soak_s + 30)
    reason = f"all brokers run Kafka {view.document.spec.kafka.version}" if view.document else ""
    raised = facts.ProtocolRaised(view.quorum.protocol, target, reason)
    return record(f"protocol {view.quorum.protocol} -> {target}: brokers are started anew with it", raised)
