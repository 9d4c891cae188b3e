"""Whether the start of a service that was asked for serves, by its agent's word and by Kafka's."""

from datetime import datetime

from controlplane.cluster.external_brokers import is_shared
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.questions.services.service_reports import service_report, start_id
from controlplane.converger.situation.situation import Situation
from controlplane.kafka.gates import is_following


def follows_without_vote(situation: Situation, instance: InstanceView) -> bool:
    """Whether this very start follows the quorum as an observer: it is well, and its vote is not in its hands."""
    kafka, report = situation.seen.fresh_kafka(situation.now), service_report(situation, instance)
    if instance.is_broker or kafka is None or report is None or report.state != "running":
        return False
    member = (instance.service_id, instance.planned.volumes[0].directory_id)
    return any((m.id, m.directory_id) == member and not m.is_voter for m in kafka.quorum.members)


def controller_serves(situation: Situation, instance: InstanceView) -> bool:
    """Whether this very start of a controller follows its leader, or leads, by its own metrics: where no broker tells
    of it, in a migration before all of them are KRaft's, and at a birth without any. A ZooKeeper server that runs does.
    """
    report = service_report(situation, instance)
    if report is None or report.state != "running" or report.start_id != start_id(instance) or instance.lost:
        return False
    if instance.planned.service == "zookeeper":
        return True
    return report.metrics.get("quorum_leader", -1) >= 0 and report.metrics.get("quorum_high_watermark", 0) > 0


def serves(situation: Situation, instance: InstanceView, *, newer_than: datetime) -> bool:
    """Whether this very start runs, and Kafka, by metadata newer than that time, counts on it."""
    if instance.planned.service == "controller" and situation.view.quorum.migration is not None:
        return controller_serves(situation, instance)
    if not instance.is_broker and _has_no_broker_to_ask(situation.view):
        return controller_serves(situation, instance)
    kafka, report = situation.seen.fresh_kafka(situation.now), service_report(situation, instance)
    if kafka is None or report is None or kafka.at <= newer_than:
        return False
    if report.state != "running" or report.start_id != start_id(instance):
        return False
    if instance.is_broker:
        broker = kafka.brokers.get(instance.service_id)
        return broker is not None and not broker.fenced
    if (
        instance.planned.service == "zookeeper"
        and kafka.mode == "kraft"
        and situation.view.quorum.migration is not None
    ):
        return True  # the quorum that leads beside it knows nothing of it; without a majority it would not run
    directory = instance.planned.volumes[0].directory_id
    # Only its own lag counts: to ask for the others' too would give up a good controller because another one is down.
    return any(
        m.is_voter and is_following(m)
        for m in kafka.quorum.members
        if (m.id, m.directory_id) == (instance.service_id, directory)
    )


def _has_no_broker_to_ask(view: ClusterView) -> bool:
    """Whether the cluster is being born and no broker is left to ask: none of them joined in time. They are made anew
    once the controllers are in, so these cannot wait for a broker's word."""
    if view.roll.converged or is_shared(view):
        return False
    return not any(i.phase in (Phase.LAUNCHED, Phase.JOINED) and not i.lost for i in view.brokers())
