"""What is asked for in place of a service that is unhealthy or dead: a new VM, with its disks or without."""

from agent.wire import DIRECTORY_LOST
from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.questions.disk_renewal import failed_disks, why_not_alone
from controlplane.converger.questions.services.agent_evidence import lost_directories
from controlplane.converger.questions.services.service_reports import service_report
from controlplane.converger.situation.situation import Situation
from events import facts
from planner.breakdown import BreakdownKind
from planner.healing import Ailment

DISK_FAILED = ("log_dir_failed", DIRECTORY_LOST)


def replacing_unhealthy(situation: Situation, ailment: Ailment) -> facts.NodeReplaceRequested:
    instance, reason = situation.view.instances[ailment.key], healing_of(ailment)
    if ailment.finding == BreakdownKind.UNREACHABLE:
        # Nobody can take its disk from it: its successor is filled by the others.
        return facts.NodeReplaceRequested(ailment.key, reason, new_disk=True)
    if not ailment.finding.startswith(DISK_FAILED) or not instance.is_broker or ailment.service:
        return facts.NodeReplaceRequested(ailment.key, reason)
    return _without_its_disk(situation, instance, reason)


def replacing_dead(situation: Situation, instance: InstanceView, reason: str) -> facts.NodeReplaceRequested:
    """Asks for a new VM in place of a broker that does not serve."""
    service = service_report(situation, instance)
    findings = service.findings if service is not None else ()
    if any(f.name.startswith(DISK_FAILED) for f in findings):
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


def healing_of(ailment: Ailment) -> str:
    return f"healing of {ailment.finding}{f' of {ailment.service}' if ailment.service else ''}"
