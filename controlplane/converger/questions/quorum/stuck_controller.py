"""An active controller that decides nothing any more and leads on: Kafka answers no look, so nothing that waits for its
metadata ever ends. Its own agent finds it; whether another one can lead is known by the word of the others' agents.
"""

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.questions.services.service_reports import service_report, start_id
from controlplane.converger.situation.situation import Situation
from controlplane.kafka.gates import Gate
from controlplane.kafka.quorum import CAUGHT_UP_LAG


def stuck_controller_gate(situation: Situation, stuck: InstanceView) -> Gate:
    """Whether each of the others runs, follows it, and has its log: without metadata, by their agents' young word."""
    view = situation.view
    others = [i for i in view.controllers() if i.key != stuck.key and i.service_id in view.quorum.voters]
    if (
        view.quorum.migration is not None
        or {stuck.service_id, *(i.service_id for i in others)} != view.quorum.voters.keys()
    ):
        return Gate(False, "who votes is being changed, or is run by others")
    report = service_report(situation, stuck)
    log_end = report.metrics.get("quorum_log_end") if report is not None else None
    for other in others:
        why = _why_not(situation, other, stuck.service_id, log_end)
        if why:
            return Gate(False, f"{other.key} could not lead instead: {why}")
    follow = f"the {len(others)} others follow it and have its log" if others else "it is the only one"
    return Gate(True, follow)


def _why_not(situation: Situation, other: InstanceView, leader: int, log_end: float | None) -> str:
    seen, report = situation.seen.reports.get(other.key), service_report(situation, other)
    if other.lost or other.phase is not Phase.JOINED:
        return "its VM is gone" if other.lost else f"it is {other.phase}"
    if seen is None or report is None or not seen.is_young(situation.now):
        return "its agent is not heard"
    if report.state != "running" or report.start_id != start_id(other):
        return f"it is {report.state}"
    if not seen.has_young_figures(situation.now):
        return "what it measured is old"
    has = report.metrics.get("quorum_log_end")
    if report.metrics.get("quorum_leader") != leader or has is None or log_end is None:
        return "it does not say that it follows"
    return f"it is {log_end - has:.0f} records behind" if log_end - has >= CAUGHT_UP_LAG else ""
