"""The condition `HeartbeatsSilent`: brokers through which no client's record goes, by the agents that try it."""

from collections.abc import Iterator
from dataclasses import dataclass

from agent.wire import HeartbeatReport
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.agent_reports import SILENT_AFTER_S
from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.situation.situation import Situation
from events import facts
from planner.heartbeats import HEARTBEAT_TOPIC

HEARTBEATS_SILENT = "HeartbeatsSilent"

_NAMED = 3


@dataclass(frozen=True, slots=True)
class Silence:
    """`for_s`: how long nothing has come back through the broker, its own start not counted."""

    broker: InstanceView
    watcher: str
    for_s: float
    report: HeartbeatReport


def heartbeats_silent(situation: Situation) -> facts.ConditionChanged:
    """From reports, which are read where an agent has told something of the kind a moment ago."""
    found = sorted(silences(situation), key=lambda s: -s.for_s)
    if not found:
        return facts.ConditionChanged(HEARTBEATS_SILENT, False, "Free", "")
    sentences = "; ".join(_words(s) for s in found[:_NAMED])
    more = f"; and {len(found) - _NAMED} brokers more" if len(found) > _NAMED else ""
    message = f"{sentences}{more}. Next: kedge describe {situation.view.name}"
    reason = "Silent" if len(found) < _serving(situation) else "AllSilent"
    return facts.ConditionChanged(HEARTBEATS_SILENT, True, reason, message)


def silences(situation: Situation) -> Iterator[Silence]:
    """Brokers that have been silent for too long and ought not to be: what Kedge itself has in hand is left out, and
    a broker to which no partition has been given yet."""
    view = situation.view
    if not situation.seen.reports or view.document is None or not view.document.spec.health.heartbeats:
        return
    serving = {i.service_id: i for i in view.brokers() if _is_serving(situation, i)}
    for key, seen in situation.seen.reports.items():
        if not seen.is_young(situation.now):
            continue
        for report in seen.report.heartbeats:
            broker = serving.get(report.broker)
            if broker is None or report.silent_s < SILENT_AFTER_S or not _has_partition(situation, report.broker):
                continue
            for_s = min(report.silent_s, _serves_s(situation, broker))
            if for_s >= SILENT_AFTER_S:
                yield Silence(broker, key, for_s, report)


def _is_serving(situation: Situation, broker: InstanceView) -> bool:
    return broker.phase is Phase.JOINED and not broker.lost and broker.key not in situation.view.settings.restarts


def _serving(situation: Situation) -> int:
    return sum(_is_serving(situation, i) for i in situation.view.brokers())


def _has_partition(situation: Situation, broker: int) -> bool:
    """Whether it is to lead one, as far as is known: without metadata that is taken for granted."""
    kafka = situation.seen.kafka
    if kafka is None:
        return True
    return any(p.name.topic == HEARTBEAT_TOPIC and p.replicas[:1] == (broker,) for p in kafka.partitions)


def _serves_s(situation: Situation, broker: InstanceView) -> float:
    """How long its process has served by its own agent's word; one that does not has no excuse."""
    seen = situation.seen.reports.get(broker.key)
    service = seen.service("broker") if seen is not None else None
    if service is None or service.state != "running":
        return float("inf")
    return situation.seconds_since(service.since)


def _words(silence: Silence) -> str:
    broker = silence.broker
    why = f": {silence.report.problem}" if silence.report.problem else ""
    return (
        f"no heartbeat through broker {broker.service_id} ({broker.key}) has come back for {silence.for_s:.0f} s, by "
        f"the agent of {silence.watcher}{why}"
    )
