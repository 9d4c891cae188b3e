"""What is done by itself about what agents find wrong inside services that run, and of brokers that lost a directory.

    a finding that lasts -> healing.requested + restart.requested       (the gate of a restart, the sick one excepted)
                         -> healing.requested + node.replace_requested  (the machine of a roll does the rest)

It begins before anything of a roll does, since a sick service keeps the roll from beginning; never while something is
in hand. Which cure, and how often, is `planner.healing`'s to say.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from agent.wire import DIRECTORY_LOST, FindingReport, ServiceReport
from controlplane.cluster.cohosted_zookeeper import named_service
from controlplane.cluster.healing_switches import heals
from controlplane.cluster.holds import hold_on
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.members import services_on
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.disk_renewal import failed_disks, why_not_alone
from controlplane.converger.questions.health.agent_evidence import lost_directories
from controlplane.converger.questions.health.broken_down import broken_ailments, is_replaced, waited_for
from controlplane.converger.questions.health.cure_evidence import evidence_of
from controlplane.converger.questions.quorum.stuck_controller import stuck_controller_gate
from controlplane.converger.situation.decision import Situation, Verdict, record, wait
from controlplane.converger.steps.quorum.controller_cure import is_unsettled
from controlplane.converger.steps.rolls.arrivals import service_report
from controlplane.converger.steps.rolls.handovers import controller_gate, service_down, sick_broker_gate
from controlplane.kafka.gates import Gate
from controlplane.runtime.once import once
from events import facts
from events.spec.model import KafkaClusterDocument
from planner.anomalies.kinds import Kind
from planner.breakdown import Manner
from planner.cure_table import CONTROLLER_STUCK
from planner.healing import Ailment, Cure, HealingPolicy, Prescription, Refusal, prescribe
from planner.observed import KafkaSnapshot

_DISK_FAILED = ("log_dir_failed", DIRECTORY_LOST)


@dataclass(frozen=True, slots=True)
class Health:
    """What is to be done now, in the order in which it is tried, and what is left alone, with the reason."""

    prescriptions: tuple[Prescription, ...]
    refusals: tuple[Refusal, ...]


def healing_step(situation: Situation) -> Verdict | None:
    """Begins one cure: the first whose gate is open. None when nobody is ill, nothing is to be done about it, or all
    gates are closed: what keeps them closed may well be mended by the steps after this one."""
    begun = (_begin(situation, prescription) for prescription in health_of(situation).prescriptions)
    return next((verdict for verdict in begun if verdict is not None), None)


def _begin(situation: Situation, prescription: Prescription) -> Verdict | None:
    ailment, words = prescription.ailment, _words(prescription)
    event = facts.HealingRequested(
        ailment.key, ailment.node, ailment.finding, str(prescription.cure), words, ailment.service
    )
    if prescription.cure is Cure.REPLACE:
        replacing = _replacing(situation, ailment)
        return record(f"replacing {ailment.key} ({words})", event, replacing)
    gate = _gate(situation, ailment)
    if not gate.open:
        return None
    sick = named_service(situation.view, ailment.key, ailment.service)
    request = facts.RestartRequested(
        key=ailment.key,
        generation=situation.view.generation,
        start=sick.starts + 1,
        config={},
        told={},
        canary=False,
        reason=_healing_of(ailment),
        service=ailment.service,
    )
    return record(f"restarting {ailment.whose} ({words}): {gate.reason}", event, request)


def unstuck(situation: Situation) -> Verdict | None:
    """The restart of an active controller that decides nothing: what waits for metadata waits for that, too. None where
    none is known to, its gate is closed, anything comes, goes or restarts, or a person holds the cluster."""
    stuck = (p for p in health_of(situation).prescriptions if p.ailment.finding == CONTROLLER_STUCK)
    due = next((p for p in stuck if p.cure is Cure.RESTART), None)
    if due is None or is_unsettled(situation.view) or hold_on(situation.view, situation.now) is not None:
        return None
    return _begin(situation, due)


def lost_disk_first(situation: Situation) -> Verdict | None:
    """Asks for what stands in for a disk that failed, so that nodes that are handed over need not wait for ever for a
    broker that cannot start, or cannot be in sync. None where none did, or a person holds the cluster."""
    replacing = (p for p in health_of(situation).prescriptions if p.cure is Cure.REPLACE)
    due = next((p for p in replacing if p.ailment.finding.startswith((*_DISK_FAILED, *Manner))), None)
    return None if due is None or hold_on(situation.view, situation.now) is not None else _begin(situation, due)


def restart_first(situation: Situation) -> Verdict | None:
    """Begins the restart of a broker that is there and that Kafka is without, so that what is in hand need not wait for
    ever until it serves. None where none is due, its gate is closed, or a person holds the cluster."""
    kafka = situation.seen.fresh_kafka(situation.now)
    if kafka is None or situation.view.restarts or hold_on(situation.view, situation.now) is not None:
        return None
    instances, live = situation.view.instances, kafka.live_brokers()
    restarts = (p for p in health_of(situation).prescriptions if p.cure is Cure.RESTART and not p.ailment.service)
    away = (p for p in restarts if instances[p.ailment.key].is_broker)
    due = next((p for p in away if instances[p.ailment.key].service_id not in live), None)
    return None if due is None else _begin(situation, due)


def _replacing(situation: Situation, ailment: Ailment) -> facts.NodeReplaceRequested:
    instance, reason = situation.view.instances[ailment.key], _healing_of(ailment)
    if ailment.finding == Manner.UNREACHABLE:
        # Nobody can take its disk from it: its successor is filled by the others.
        return facts.NodeReplaceRequested(ailment.key, reason, new_disk=True)
    if not ailment.finding.startswith(_DISK_FAILED) or not instance.is_broker or ailment.service:
        return facts.NodeReplaceRequested(ailment.key, reason)
    return _without_its_disk(situation, instance, reason)


def replacing_dead(situation: Situation, instance: InstanceView, reason: str) -> facts.NodeReplaceRequested:
    """Asks for a new VM in place of a broker that does not serve."""
    service = service_report(situation, instance)
    findings = service.findings if service is not None else ()
    if any(f.name.startswith(_DISK_FAILED) for f in findings):
        return _without_its_disk(situation, instance, reason)
    return facts.NodeReplaceRequested(instance.key, reason)


def _without_its_disk(situation: Situation, instance: InstanceView, reason: str) -> facts.NodeReplaceRequested:
    """A disk that failed is handed over to nobody: it alone begins anew where Kafka says which one it is, else all."""
    failed = _lost_disks(situation, instance) or failed_disks(situation.seen.fresh_kafka(situation.now), instance)
    if failed and not why_not_alone(situation.view, instance):
        return facts.NodeReplaceRequested(instance.key, reason, disks=failed)
    return facts.NodeReplaceRequested(instance.key, reason, new_disk=True)


def _lost_disks(situation: Situation, instance: InstanceView) -> tuple[str, ...]:
    """Directories its agent finds nothing on while the broker does not run; empty where they are all it has."""
    lost = lost_directories(situation, instance)
    names = [v.dir for v in instance.planned.volumes]
    return tuple(name for name in names if name in lost) if lost < set(names) else ()


def healing_left_step(situation: Situation) -> Verdict | None:
    """Says what a cure waits for, once nothing else is to be done."""
    prescription = next(iter(health_of(situation).prescriptions), None)
    if prescription is None:
        return None
    gate = _gate(situation, prescription.ailment)
    sentence = f"restart of {prescription.ailment.whose} ({_words(prescription)}) waits: {gate.reason}"
    return wait(WaitReason.HEALING_GATE, sentence, patience_s=60)


@once
def health_of(situation: Situation) -> Health:
    """Findings of services, by reports young enough to act on, judged against what was done before."""
    view, document = situation.view, situation.view.document
    if document is None or not _is_anything_found(situation):
        return Health((), ())
    policy, ill = healing_policy(situation, document), (*_ailments(situation), *broken_ailments(situation))
    services = {a.whose: named_service(view, a.key, a.service) for a in ill}
    evidence = {whose: evidence_of(situation, service) for whose, service in services.items()}
    prescriptions, refusals = prescribe(ill, view.cures, policy, situation.now, _peers(view), evidence)
    prescriptions, leaving = _of_those_that_stay(view, prescriptions)
    refusals = (*leaving, *refusals)
    braked = situation.allowance.cures.why_none(situation.now) if prescriptions else ""
    if braked:
        return Health((), (Refusal(prescriptions[0].ailment, braked, gave_up=False), *refusals))
    return Health(prescriptions, refusals)


def _of_those_that_stay(
    view: ClusterView, wanted: Sequence[Prescription]
) -> tuple[tuple[Prescription, ...], tuple[Refusal, ...]]:
    """Without new VMs for brokers that are emptied: no second one would have what they have."""
    new = [p for p in wanted if p.cure is Cure.REPLACE and view.instances[p.ailment.key].phase is Phase.DRAINING]
    words = "and it is being emptied: no new VM would have what it has"
    left = tuple(Refusal(p.ailment, f"{p.reason}, {words}", gave_up=True) for p in new)
    return tuple(p for p in wanted if p not in new), left


def healing_policy(situation: Situation, document: KafkaClusterDocument) -> HealingPolicy:
    """What the spec, and people since, let be done without asking."""
    spec, disks = document.spec.healing, heals(situation.view, Kind.DISK_FAILURE, situation.now)
    return HealingPolicy(spec.restart, spec.replace, timedelta(seconds=spec.after_s), spec.per_day, disks=disks)


def _is_anything_found(situation: Situation) -> bool:
    """A cheap no for most ticks: at rest no report is read, and during a roll agents find nothing wrong."""
    if situation.seen.health.astray or situation.seen.health.away:
        return True
    return any(service.findings for seen in situation.seen.reports.values() for service in seen.report.services)


def healing_gate(situation: Situation, kafka: KafkaSnapshot, instance: InstanceView) -> Gate:
    """As before any restart, but what is wrong with the sick one itself is the reason for it, not against it."""
    stumbling = service_down(situation, kafka, instance)
    if stumbling:
        return Gate(False, stumbling)
    if not instance.is_broker:
        return controller_gate(situation, kafka, instance)
    return sick_broker_gate(situation, kafka, instance)


def _gate(situation: Situation, ailment: Ailment) -> Gate:
    if ailment.finding == CONTROLLER_STUCK:
        return stuck_controller_gate(situation, situation.view.instances[ailment.key])
    kafka = situation.seen.fresh_kafka(situation.now)
    if kafka is None:
        return Gate(False, "Kafka's metadata cannot be read")
    return healing_gate(situation, kafka, named_service(situation.view, ailment.key, ailment.service))


def _healing_of(ailment: Ailment) -> str:
    return f"healing of {ailment.finding}{f' of {ailment.service}' if ailment.service else ''}"


def _words(prescription: Prescription) -> str:
    ailment = prescription.ailment
    whose = f"{ailment.service}: " if ailment.service else ""
    return f"{whose}{ailment.finding}: {ailment.message}; {prescription.reason}"


def _ailments(situation: Situation) -> Iterator[Ailment]:
    view = situation.view
    for instance in waited_for(situation):
        seen = situation.seen.reports.get(instance.key)
        if instance.key in view.restarts or is_replaced(view, instance) or seen is None:
            continue
        if not seen.is_young(situation.now):
            continue
        for service in services_on(instance):
            told = seen.service(service.planned.service)
            for found in _to_be_cured(service, told) if told is not None else ():
                yield Ailment(instance.node, instance.key, found.name, found.since, found.message, service.beside)


def _peers(view: ClusterView) -> dict[str, frozenset[str]]:
    """By service, the nodes whose service does the same, its own among them."""
    there = [s for i in view.in_phase(Phase.JOINED) if not i.lost for s in services_on(i)]
    alike = defaultdict[str, set[str]](set)
    for service in there:
        alike[service.planned.service].add(service.node)
    return {s.service_key: frozenset(alike[s.planned.service]) for s in there}


def _to_be_cured(service: InstanceView, told: ServiceReport) -> Iterable[FindingReport]:
    """All of a service that runs. Of a broker that does not, what its agent looked at to find out why: that nothing is
    where its data was. What a voter has lost is the quorum's affair (`voters.volume_step`)."""
    if told.state == "running":
        return told.findings
    return [f for f in told.findings if service.is_broker and f.name.partition(":")[0] == DIRECTORY_LOST]
