"""How the first service of its kind that runs with something new is judged, by its start or by a live value. Pure."""

from collections.abc import Collection, Iterable

from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.questions.services.service_reports import state_of
from controlplane.converger.situation.situation import Situation
from controlplane.kafka.gates import is_following
from planner.observed import KafkaSnapshot


def first_to_try(brokers: Iterable[InstanceView], leads: Collection[int]) -> InstanceView | None:
    """Who has a live value first: as with restarts, the one that leads the quorum or the cluster last. None of none."""
    return min(brokers, key=lambda i: (i.service_id in leads, i.planned.rack, i.node), default=None)


def has_fallen(kafka: KafkaSnapshot, instance: InstanceView) -> bool:
    """By Kafka's own word; an agent that says nothing proves nothing."""
    if instance.is_broker:
        return instance.service_id not in kafka.live_brokers()
    return not any(is_following(m) for m in kafka.quorum.members if m.is_voter and m.id == instance.service_id)


def out_of_sync(kafka: KafkaSnapshot, broker: int) -> int:
    """In how many of its partitions it is not in sync; what is still being copied to it does not count."""
    hosted = (p for p in kafka.hosted_by(broker) if broker in p.target and broker not in p.adding)
    return sum(broker not in p.isr for p in hosted)


def trouble(situation: Situation, instance: InstanceView) -> str:
    """What is known of a service that does not serve as it should."""
    state = state_of(situation, instance)
    kafka = situation.seen.fresh_kafka(situation.now)
    if kafka is None or not instance.is_broker or state != "running":
        return state
    behind = sum(instance.service_id not in p.isr for p in kafka.hosted_by(instance.service_id))
    return f"{state}, out of sync in {behind} partitions" if behind else f"{state}, but it does not serve"
