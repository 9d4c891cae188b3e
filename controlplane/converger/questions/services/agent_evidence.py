"""What agents say against Kafka: a broker that has just gone is alive by Kafka's word until its session ends. Pure.

    what its agent says                                          what Kafka says meanwhile
    it does not run                                              alive, for up to a session timeout
    it runs as another node than it should                       the same, of the id it should have
    it began by itself a moment ago                              alive: of this process, or of the one before

Asked before anybody else is stopped: a look at Kafka alone would take a second broker while the first is away. Only the
young word of an agent counts; one that is silent is left to Kafka's word, as everywhere.

Sessions: `broker.session.timeout.ms` (KRaft, 9 s unless set) and `zookeeper.session.timeout.ms` (18 s since Kafka 2.5).
A broker that starts while the session of the process before it is open is registered once that has ended.
"""

from datetime import datetime

from agent.wire import DIRECTORY_LOST
from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.questions.services.service_reports import service_report, state_of
from controlplane.converger.situation.situation import Situation
from planner.observed import KafkaSnapshot

SESSION_S = 9.0
ZOOKEEPER_SESSION_S = 18.0

_WRONG_IDENTITY = "wrong_identity"


def says_it_is_down(situation: Situation, instance: InstanceView) -> bool:
    """Whether its agent says that it does not run."""
    report = service_report(situation, instance)
    return report is not None and _is_heard(situation, instance) and report.state != "running"


def lost_directories(situation: Situation, instance: InstanceView) -> frozenset[str]:
    """Names of the log directories its agent finds nothing on that should hold data, while its broker does not run."""
    report = service_report(situation, instance)
    if report is None or not _is_heard(situation, instance) or report.state == "running":
        return frozenset()
    kinds = (f.name.partition(":") for f in report.findings)
    return frozenset(name for kind, _, name in kinds if kind == DIRECTORY_LOST and name)


def is_unproved(situation: Situation, kafka: KafkaSnapshot, instance: InstanceView) -> bool:
    """Whether a broker began by itself so shortly before this look at Kafka that the look may mean the process before
    it. Starts that were asked for are proved one by one (`arrivals.serves`); those of a migration by its own steps."""
    if instance.served_at is None or not instance.is_broker or situation.view.quorum.migration is not None:
        return False
    began_at = _began_at(situation, instance)
    if began_at is None or began_at <= instance.served_at:
        return False
    return (kafka.at - began_at).total_seconds() < session_s(situation)


def why_not_serving(situation: Situation, kafka: KafkaSnapshot, instance: InstanceView) -> str:
    """What its agent says against its service, whatever Kafka says; "" where it says nothing against it."""
    if says_it_is_down(situation, instance):
        return state_of(situation, instance)
    node = _runs_as(situation, instance)
    if node != instance.service_id:
        return f"its process runs as node {node}"
    if is_unproved(situation, kafka, instance):
        return f"it began by itself, and Kafka may mean the process before it for {session_s(situation):.0f} s"
    return ""


def session_s(situation: Situation) -> float:
    """For how long Kafka may call a broker alive that is gone."""
    document, old = situation.view.document, situation.view.in_zookeeper_mode
    name = "zookeeper.session.timeout.ms" if old else "broker.session.timeout.ms"
    configured = document.spec.kafka.config.get(name) if document is not None else None
    return float(configured) / 1000 if configured is not None else ZOOKEEPER_SESSION_S if old else SESSION_S


def _is_heard(situation: Situation, instance: InstanceView) -> bool:
    seen = situation.seen.reports.get(instance.key)
    return seen is not None and seen.is_young(situation.now)


def _runs_as(situation: Situation, instance: InstanceView) -> int:
    """The id its process has, by its agent; its own where nothing else is told."""
    report = service_report(situation, instance)
    if report is None or not instance.is_broker or not _is_heard(situation, instance):
        return instance.service_id
    nodes = (f.numbers.get("node") for f in report.findings if f.name == _WRONG_IDENTITY)
    return next((int(node) for node in nodes if node is not None), instance.service_id)


def _began_at(situation: Situation, instance: InstanceView) -> datetime | None:
    """When the process came up that runs, by our clock."""
    seen, report = situation.seen.reports.get(instance.key), service_report(situation, instance)
    if seen is None or report is None or report.state != "running" or not _is_heard(situation, instance):
        return None
    return seen.since(report)
