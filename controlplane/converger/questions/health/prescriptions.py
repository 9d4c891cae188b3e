"""What agents find wrong inside services, and which cure it has by what the spec lets be done."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from agent.wire import DIRECTORY_LOST, FindingReport, ServiceReport
from controlplane.cluster.cohosted_zookeeper import named_service
from controlplane.cluster.healing_switches import heals
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.members import services_on
from controlplane.converger.questions.health.broken_down import broken_ailments, is_replaced, waited_for
from controlplane.converger.questions.health.cure_evidence import evidence_of
from controlplane.converger.situation.situation import Situation
from controlplane.runtime.once import once
from events.spec.model import KafkaClusterDocument
from planner.anomalies.kinds import Kind
from planner.healing import Ailment, Cure, HealingPolicy, HealingRefusal, Prescription, prescribe


@dataclass(frozen=True, slots=True)
class HealingPlan:
    """What is to be done now, in the order in which it is tried, and what is left alone, with the reason."""

    prescriptions: tuple[Prescription, ...]
    refusals: tuple[HealingRefusal, ...]


@once
def health_of(situation: Situation) -> HealingPlan:
    """Findings of services, by reports young enough to act on, judged against what was done before."""
    view, document = situation.view, situation.view.document
    if document is None or not _is_anything_found(situation):
        return HealingPlan((), ())
    policy, unhealthy = healing_policy(situation, document), (*_ailments(situation), *broken_ailments(situation))
    services = {a.whose: named_service(view, a.key, a.service) for a in unhealthy}
    evidence = {whose: evidence_of(situation, service) for whose, service in services.items()}
    prescriptions, refusals = prescribe(unhealthy, view.vms.cures, policy, situation.now, _peers(view), evidence)
    prescriptions, leaving = _of_those_that_stay(view, prescriptions)
    refusals = (*leaving, *refusals)
    braked = situation.allowance.cures.why_none(situation.now) if prescriptions else ""
    if braked:
        return HealingPlan((), (HealingRefusal(prescriptions[0].ailment, braked, gave_up=False), *refusals))
    return HealingPlan(prescriptions, refusals)


def _of_those_that_stay(
    view: ClusterView, wanted: Sequence[Prescription]
) -> tuple[tuple[Prescription, ...], tuple[HealingRefusal, ...]]:
    """Without new VMs for brokers that are emptied: no second one would have what they have."""
    new = [p for p in wanted if p.cure is Cure.REPLACE and view.instances[p.ailment.key].phase is Phase.DRAINING]
    words = "and it is being emptied: no new VM would have what it has"
    left = tuple(HealingRefusal(p.ailment, f"{p.reason}, {words}", gave_up=True) for p in new)
    return tuple(p for p in wanted if p not in new), left


def healing_policy(situation: Situation, document: KafkaClusterDocument) -> HealingPolicy:
    """What the spec, and people since, let be done without asking."""
    spec, disks = document.spec.healing, heals(situation.view, Kind.DISK_FAILURE, situation.now)
    return HealingPolicy(spec.restart, spec.replace, timedelta(seconds=spec.after_s), spec.per_day, disks=disks)


def _is_anything_found(situation: Situation) -> bool:
    """A cheap no for most ticks: at rest no report is read, and during a roll agents find nothing wrong."""
    if situation.seen.health.misregistered or situation.seen.health.away:
        return True
    return any(service.findings for seen in situation.seen.reports.values() for service in seen.report.services)


def _ailments(situation: Situation) -> Iterator[Ailment]:
    view = situation.view
    for instance in waited_for(situation):
        seen = situation.seen.reports.get(instance.key)
        if instance.key in view.settings.restarts or is_replaced(view, instance) or seen is None:
            continue
        if not seen.is_young(situation.now):
            continue
        for service in services_on(instance):
            report = seen.service(service.planned.service)
            for found in _to_be_cured(service, report) if report is not None else ():
                yield Ailment(instance.node, instance.key, found.name, found.since, found.message, service.beside)


def _peers(view: ClusterView) -> dict[str, frozenset[str]]:
    """By service, the nodes whose service does the same, its own among them."""
    there = [s for i in view.in_phase(Phase.JOINED) if not i.lost for s in services_on(i)]
    alike = defaultdict[str, set[str]](set)
    for service in there:
        alike[service.planned.service].add(service.node)
    return {s.service_key: frozenset(alike[s.planned.service]) for s in there}


def _to_be_cured(service: InstanceView, report: ServiceReport) -> Iterable[FindingReport]:
    """All of a service that runs. Of a broker that does not, what its agent looked at to find out why: that nothing is
    where its data was. What a voter has lost is the quorum's affair (`voters.volume_step`)."""
    if report.state == "running":
        return report.findings
    return [f for f in report.findings if service.is_broker and f.name.partition(":")[0] == DIRECTORY_LOST]
