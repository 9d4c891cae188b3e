"""Gates before a service is stopped for its successor, or as a cure: may it go, by Kafka's word and by the agents'?"""

from controlplane.cluster.external_brokers import expected_externals
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.quorum_config import has_stop_order
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.members import services_on
from controlplane.converger.questions.services.agent_evidence import says_it_is_down, why_not_serving
from controlplane.converger.questions.services.cluster_healthy import cluster_is_whole
from controlplane.converger.questions.services.service_reports import state_of
from controlplane.converger.situation.situation import Situation
from controlplane.kafka.gates import Gate, falling_without, may_stop_broker, may_stop_controller
from planner.observed import KafkaSnapshot


def service_down(situation: Situation, kafka: KafkaSnapshot, instance: InstanceView, *, service: str = "") -> str:
    """Another one (of that `service` only, where one is named) that does not serve by the word of its agent, in words;
    "" where there is none. An agent that was not heard lately is left to Kafka's word.
    """
    for other in (s for i in situation.view.in_phase(Phase.JOINED) if not i.lost for s in services_on(i)):
        if other.service_key == instance.service_key or (service and other.planned.service != service):
            continue
        if has_stop_order(situation.view, other):
            continue
        if says_it_is_down(situation, other):
            return f"{other.service_key} is {state_of(situation, other)}"
        if against := why_not_serving(situation, kafka, other):
            return f"{other.service_key} is not counted on: {against}"
    return ""


def controller_gate(situation: Situation, kafka: KafkaSnapshot, old: InstanceView) -> Gate:
    """Stopped while the others are a majority that keeps up; a quorum of one has nobody to go on meanwhile."""
    return may_stop_controller(kafka, old.service_id, gone=_gone(situation.view), allow_outage=_is_alone(situation))


def broker_gate(situation: Situation, kafka: KafkaSnapshot, old: InstanceView) -> Gate:
    """Stopped with its replicas on it: everybody else must serve and be in sync first."""
    asked = situation.view.requests.to_replace.get(old.key)
    if asked is not None and (asked.disks or old.service_id not in kafka.live_brokers()):
        return unhealthy_broker_gate(situation, kafka, old)
    whole = others_are_whole(situation, kafka, old, excepted=frozenset())
    return may_stop_broker(kafka, old.service_id, allow_unavailable=situation.excused_topics) if whole.open else whole


def unhealthy_broker_gate(situation: Situation, kafka: KafkaSnapshot, instance: InstanceView) -> Gate:
    """The same, but what is wrong with the broker itself is the reason to stop it, not against it. Moves onto one that
    does not serve wait for its successor. One that is in no ISR waits for nobody: two of those would wait for each
    other for ever."""
    broker = instance.service_id
    whole = others_are_whole(situation, kafka, instance, excepted=frozenset({broker}))
    if not whole.open and not _takes_nothing_away(situation, kafka, instance):
        return whole
    if broker in kafka.live_brokers() and any(p.is_moving for p in kafka.hosted_by(broker)):
        return Gate(False, f"partitions on broker {broker} are being moved")
    hosted = [p for p in kafka.hosted_by(broker) if p.name.topic not in situation.excused_topics]
    falling = falling_without(hosted, broker)
    if falling:
        return Gate(
            False, f"{len(falling)} partitions would fall below min ISR without it, {falling[0].name} among them"
        )
    if not whole.open:
        return Gate(True, f"none of the {len(hosted)} replicas on broker {broker} is in sync: nobody counts on it")
    return Gate(True, f"all {len(hosted)} partitions on broker {broker} keep their min ISR without it")


def _takes_nothing_away(situation: Situation, kafka: KafkaSnapshot, instance: InstanceView) -> bool:
    """Whether it holds replicas of which none is in sync, nor the last that is live, and nobody else is being started
    anew: one at a time."""
    broker, others = instance.service_id, kafka.live_brokers() - {instance.service_id}
    hosted = kafka.hosted_by(broker)
    counts_on_it = any(broker in p.isr or others.isdisjoint(p.replicas) for p in hosted)
    restarting = set(situation.view.settings.restarts) - {instance.key}
    return bool(hosted) and not counts_on_it and not restarting


def others_are_whole(
    situation: Situation, kafka: KafkaSnapshot, instance: InstanceView, *, excepted: frozenset[int]
) -> Gate:
    """`cluster_is_whole` without this broker. One whose VM is gone serves nobody, nor does one by the word of its
    agent, whether Kafka has noticed or not."""
    others = [i for i in situation.view.brokers() if i.phase is Phase.JOINED and i.key != instance.key]
    expected = [*(i.service_id for i in others), *expected_externals(situation.view)]
    whole = cluster_is_whole(kafka, expected, excepted=excepted)
    gone = next((i for i in others if i.lost), None)
    if whole.open and gone is not None:
        return Gate(False, f"the VM of {gone.key} is gone, whether Kafka has noticed or not")
    against = ((i.key, why_not_serving(situation, kafka, i)) for i in others)
    against_it = next(((key, why) for key, why in against if why), None)
    if whole.open and against_it is not None:
        return Gate(
            False, f"{against_it[0]} does not serve by its agent ({against_it[1]}), whether Kafka has noticed or not"
        )
    return whole


def _gone(view: ClusterView) -> frozenset[int]:
    """Controllers whose VM is gone and that nobody runs instead yet: Kafka calls them alive for some seconds more."""
    runs = {i.service_id for i in view.controllers() if i.phase is Phase.JOINED and not i.lost}
    return frozenset(i.service_id for i in view.controllers() if i.lost) - runs


def _is_alone(situation: Situation) -> bool:
    """A quorum of one has nobody to go on meanwhile: the outage is what the spec asked for, and the plan warned."""
    document = situation.view.document
    return document is not None and document.spec.quorum_size == 1
