"""Partitions of heartbeats through the life of a cluster: made, carried through rolls, placed anew, in nobody's way."""

import pytest

from events.spec.health import Health
from events.spec.model import KafkaClusterDocument
from planner.heartbeats import HEARTBEAT_TOPIC
from tests.builders import a_document
from tests.sim.world import World

SETTLING_TICKS = 200
"""Metadata of a cluster at rest is read once a minute, and placement is looked at then."""


def beating(**overrides: object) -> KafkaClusterDocument:
    document = a_document(**overrides)
    spec = document.spec.model_copy(update={"health": Health(heartbeats=True)})
    return document.model_copy(update={"spec": spec})


def leads(world: World) -> dict[int, int]:
    """Broker -> how many partitions of heartbeats it leads, as the first replica, with nothing under way."""
    found: dict[int, int] = {}
    for p in world.kafka.partitions():
        if p.name.topic == HEARTBEAT_TOPIC and not p.is_moving and p.leader == p.replicas[0]:
            found[p.leader] = found.get(p.leader, 0) + 1
    return found


def each_broker_leads_one(world: World) -> bool:
    brokers = {i.service_id for i in world.view().receivers()}
    return set(leads(world)) == brokers and not any(p.is_moving for p in world.kafka.partitions())


def settled(world: World) -> None:
    world.run(
        until=lambda w: each_broker_leads_one(w) and not any(p.is_moving for p in w.kafka.partitions()), ticks=300
    )


def born(world: World) -> None:
    world.declare(beating())
    world.converge()
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    settled(world)


def test_every_broker_leads_one_after_a_cluster_was_made_and_after_every_vm_of_it_was_replaced() -> None:
    world = World()
    born(world)
    assert leads(world) == {1000: 1, 1001: 1, 1002: 1}
    world.declare(beating(version="4.2.0"))
    world.converge(ticks=900)
    settled(world)
    assert set(leads(world)) == {i.service_id for i in world.view().brokers()}
    assert not set(leads(world)) & {1000, 1001, 1002}, "all are new"
    assert world.kafka.lost() == 0


@pytest.mark.soak
def test_brokers_that_are_added_get_one_each_and_those_that_leave_take_none_along() -> None:
    world = World()
    born(world)
    world.declare(beating(brokers=6))
    world.converge(ticks=900)
    settled(world)
    assert len(leads(world)) == 6
    world.declare(beating(brokers=3))
    world.converge(ticks=900)
    settled(world)
    assert len(leads(world)) == 3
    count = sum(p.name.topic == HEARTBEAT_TOPIC for p in world.kafka.partitions())
    assert count == 6, "Kafka takes no partition away: three are left over"


def test_a_cluster_at_rest_with_heartbeats_is_at_rest() -> None:
    world = World()
    born(world)
    before, made = len(world.history()), list(world.kafka.topics.made)
    for _ in range(SETTLING_TICKS):
        world.tick()
    assert len(world.history()) == before
    assert world.kafka.topics.made == made
    assert made.count(f"create {HEARTBEAT_TOPIC} 3x3") == 1
