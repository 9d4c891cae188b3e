"""What is known of a service beside what is wrong with it, for the questions asked before it is acted on: how far it
came, by its agent; how far others are with metadata; whose agents are silent; and what its restart takes away.
"""

from collections.abc import Iterable, Mapping

from agent.wire import ServiceReport
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.members import services_on
from controlplane.converger.situation.situation import Situation
from planner.cure_checks import Evidence, ServiceProgress, recovery_words
from planner.cure_table import RESTART_FAILED


def evidence_of(situation: Situation, service: InstanceView) -> Evidence:
    """By young reports alone: what an older one said of progress is not known any more."""
    report = _report(situation, service)
    hosted, thinned = _taken_away(situation, service)
    return Evidence(
        progress=_progress(report),
        log_end=_log_end(situation, service),
        unheard=frozenset(_unheard(situation, service)),
        hosted=hosted,
        thinned=thinned,
    )


def start_progress(situation: Situation, service: InstanceView) -> str:
    """How a service that is to be back comes on, in words: with its logs, its metadata or its replicas. "" where it
    does not, or nobody knows. Whoever gives it up meanwhile has it begin anew."""
    report = _report(situation, service)
    if report is None or not report.progress:
        return ""
    known = Evidence(progress=_progress(report), log_end=_log_end(situation, service))
    return recovery_words(RESTART_FAILED, known)


def _report(situation: Situation, service: InstanceView) -> ServiceReport | None:
    seen = situation.seen.reports.get(service.key)
    if seen is None or not seen.has_young_figures(situation.now):
        return None
    return seen.service(service.planned.service)


def _progress(report: ServiceReport | None) -> Mapping[str, ServiceProgress]:
    return {
        one.name: ServiceProgress(one.over_s, one.advanced, one.left, one.closer, one.position)
        for one in (report.progress if report is not None else ())
    }


def _log_end(situation: Situation, service: InstanceView) -> float | None:
    """How far the metadata log goes, by whoever else has most of it: controllers, and brokers that follow."""
    ends = []
    for other in _others(situation, service):
        report = _report(situation, other)
        if report is None:
            continue
        if "quorum_log_end" in report.metrics:
            ends.append(report.metrics["quorum_log_end"])
        metadata = _progress(report).get("metadata")
        if metadata is not None and metadata.position is not None:
            ends.append(metadata.position + (metadata.left or 0.0))
    return max(ends, default=None)


def _unheard(situation: Situation, service: InstanceView) -> Iterable[str]:
    for other in _others(situation, service):
        seen = situation.seen.reports.get(other.key)
        alike = other.planned.service == service.planned.service
        if alike and (seen is None or not seen.is_young(situation.now)):
            yield other.node


def _others(situation: Situation, service: InstanceView) -> Iterable[InstanceView]:
    there = (i for i in situation.view.in_phase(Phase.JOINED) if not i.lost)
    return (s for i in there for s in services_on(i) if s.service_key != service.service_key)


def _taken_away(situation: Situation, service: InstanceView) -> tuple[int | None, int]:
    """Partitions on a broker, and those at their min ISR without it, but for topics the spec excuses."""
    kafka = situation.seen.fresh_kafka(situation.now)
    if kafka is None or not service.is_broker:
        return None, 0
    broker, excused = service.service_id, situation.excused_topics
    hosted = [p for p in kafka.hosted_by(broker) if p.name.topic not in excused]
    return len(hosted), sum(broker in p.isr and len(p.isr) - 1 <= p.min_isr for p in hosted)
