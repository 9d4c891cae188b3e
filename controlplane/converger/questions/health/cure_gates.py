"""Gates before a service is restarted as a cure."""

from controlplane.cluster.cohosted_zookeeper import named_service
from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.questions.quorum.stuck_controller import stuck_controller_gate
from controlplane.converger.questions.rolls.stop_gates import controller_gate, service_down, unhealthy_broker_gate
from controlplane.converger.situation.situation import Situation
from controlplane.kafka.gates import Gate
from planner.cure_table import CONTROLLER_STUCK
from planner.healing import Ailment
from planner.observed import KafkaSnapshot


def healing_gate(situation: Situation, kafka: KafkaSnapshot, instance: InstanceView) -> Gate:
    """As before any restart, but what is wrong with the unhealthy one itself is the reason for it, not against it."""
    stumbling = service_down(situation, kafka, instance)
    if stumbling:
        return Gate(False, stumbling)
    if not instance.is_broker:
        return controller_gate(situation, kafka, instance)
    return unhealthy_broker_gate(situation, kafka, instance)


def cure_gate(situation: Situation, ailment: Ailment) -> Gate:
    if ailment.finding == CONTROLLER_STUCK:
        return stuck_controller_gate(situation, situation.view.instances[ailment.key])
    kafka = situation.seen.fresh_kafka(situation.now)
    if kafka is None:
        return Gate(False, "Kafka's metadata cannot be read")
    return healing_gate(situation, kafka, named_service(situation.view, ailment.key, ailment.service))
