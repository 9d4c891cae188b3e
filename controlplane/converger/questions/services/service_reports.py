"""What agents last said of the services of their VMs, and of which start."""

from collections.abc import Iterable

from agent.wire import ServiceReport
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.members import services_on
from controlplane.converger.situation.situation import Situation


def start_id(instance: InstanceView) -> str:
    """Each start the control plane asks for has an id of its own; the agent runs each one once."""
    return f"{instance.key}-{instance.start.count}"


def refusal_of(situation: Situation, instance: InstanceView) -> str:
    """The words in which the service of a VM, or the server beside it, refuses the configuration of this very start; ""
    where none does. The last word of an agent stands: that it is silent since says nothing of what its service takes.
    """
    if not has_reported(situation, instance) or instance.phase is not Phase.LAUNCHED:
        return ""
    for service in services_on(instance):
        report = situation.seen.reports[instance.key].service(service.planned.service)
        if report is not None and report.refuses and report.start_id == start_id(service):
            return report.refuses
    return ""


def has_reported(situation: Situation, instance: InstanceView) -> bool:
    """Whether the agent of this very VM has spoken since it was launched."""
    seen = situation.seen.reports.get(instance.key)
    return seen is not None and instance.launched_at is not None and seen.received_at >= instance.launched_at


def agents_of_before(situation: Situation, instances: Iterable[InstanceView], wire: int) -> str:
    """Those whose agents take no documents of that version, or were not heard; "" where all do."""
    reports = situation.seen.reports
    old = sorted(i.key for i in instances if i.key not in reports or reports[i.key].report.documents < wire)
    return "" if not old else f"{old[0]} and {len(old) - 1} more" if len(old) > 1 else old[0]


def service_report(situation: Situation, instance: InstanceView) -> ServiceReport | None:
    """What the agent last said of the instance's service, None when it has not spoken of it."""
    seen = situation.seen.reports.get(instance.key)
    return seen.service(instance.planned.service) if seen else None


def was_seen_started(situation: Situation, instance: InstanceView) -> bool | None:
    """Whether the service of a VM that is gone was ever started, by the last word of its agent. That it had not been
    then says nothing of what came after it; but that Kafka refused to be formatted with what it was told last does, as
    it could not be started with that."""
    report = service_report(situation, instance)
    if report is None or report.started is None:
        return None
    refuses = bool(report.refuses) and report.start_id == start_id(instance)
    return True if report.started else False if refuses else None


def state_of(situation: Situation, instance: InstanceView) -> str:
    """What its agent last said of the service, in a few words."""
    if not has_reported(situation, instance):
        return "its agent has not reported"
    report = service_report(situation, instance)
    if report is None:
        return "no service yet"
    return f"{report.state}{': ' + report.message if report.message else ''}"
