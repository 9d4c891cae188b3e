"""Clusters that others made, taken on and emptied onto ours, each told as a readable log."""

from collections.abc import Callable
from functools import partial

import pytest

from controlplane.cluster.external_brokers import external_brokers
from controlplane.kafka.features import KRAFT, METADATA
from events import facts
from tests.external_clusters import CLUSTER_ID, THEIRS, an_external_document, made_by_others
from tests.sequences.recorded import assert_told_as_recorded
from tests.sim.world import World

VOTERS = (9, 10, 11)


def _imported(world: World) -> None:
    made_by_others(world.kafka)
    world.declare(an_external_document())
    world.converge(ticks=60)


def _hosted(world: World) -> dict[int, int]:
    return {b: n for b in THEIRS if (n := world.kafka_hosts(b))}


def a_cluster_of_others_is_imported(world: World) -> None:
    """Read from Kafka alone: no VM, no run, no move."""
    _imported(world)
    assert sorted(external_brokers(world.view())) == sorted(THEIRS)
    assert not world.machines.created
    assert not world.jobs.open_jobs()
    assert world.view().vms.next_broker_id == 1000


def brokers_of_others_are_emptied_onto_a_pool(world: World) -> None:
    """Ours join, theirs are emptied, and stand there empty until their owner stops them, one by one."""
    _imported(world)
    world.declare(an_external_document(ours=3))
    world.converge()
    assert len(_hosted(world)) == 3
    world.declare(an_external_document(ours=3, theirs=()))
    world.converge(ticks=900)
    assert not _hosted(world)
    assert all(world.kafka.is_running(b) for b in THEIRS)
    for broker in THEIRS:
        world.kafka.stop_broker(broker)
        world.disturbed()
        world.run(until=partial(_is_gone, broker), ticks=300)
    world.settle()
    assert not set(THEIRS) & set(world.kafka.snapshot().brokers)
    assert len(world.kafka.voters()) == 1


def _is_gone(broker: int, world: World) -> bool:
    return broker not in external_brokers(world.view())


def _is_moving(world: World) -> bool:
    drain = world.view().moves.drain
    return drain is not None and drain.progress.moving_at is not None


def a_wrong_cluster_answers(world: World) -> None:
    """Another cluster at these addresses is never taken on."""
    made_by_others(world.kafka)
    world.kafka.cluster_id = CLUSTER_ID[::-1]
    world.declare(an_external_document(ours=3))
    for _ in range(30):
        world.tick()
    assert world.view().external is None
    assert not world.machines.created


def a_broker_of_others_is_named_again(world: World) -> None:
    """Its line comes back while it is being emptied: moves that run end, the rest is left, it stays."""
    _imported(world)
    world.declare(an_external_document(ours=3))
    world.converge()
    world.declare(an_external_document(ours=3, theirs=(2, 3), rollout=", throttleMibPerS: 5"))
    world.run(until=_is_moving, ticks=100)
    world.declare(an_external_document(ours=3))
    world.converge()
    assert external_brokers(world.view())[1].empty_at is None
    assert world.view().moves.drain is None


def an_emptied_broker_of_others_fills_up_and_serves_on(world: World) -> None:
    """A topic that Kafka places on it is moved off again; stopped and started again, it is no one that left."""
    _imported(world)
    world.declare(an_external_document(ours=3))
    world.converge()
    world.declare(an_external_document(ours=3, theirs=(2, 3)))
    world.converge(ticks=900)
    world.kafka.create_topic("payments", partitions=12, rf=3, min_isr=2, bytes_per_partition=1_000_000)
    assert world.kafka_hosts(1)
    world.disturbed()
    world.run(until=lambda w: not w.kafka_hosts(1) and w.view().moves.drain is None, ticks=400)
    world.converge()
    world.kafka.stop_broker(1)
    world.disturbed()
    world.run(until=lambda w: external_brokers(w.view())[1].stopped_at is not None, ticks=100)
    world.kafka.start_broker(1)
    world.disturbed()
    world.run(until=lambda w: external_brokers(w.view())[1].stopped_at is None, ticks=100)
    world.converge()
    assert 1 in world.kafka.snapshot().brokers


def deleted_while_others_run_the_rest(world: World) -> None:
    """Nothing is destroyed: not theirs, and not ours, which may hold what theirs do not."""
    _imported(world)
    world.declare(an_external_document(ours=3))
    world.converge()
    world.person(facts.ClusterDeletionRequested("orders", "by mistake"))
    world.run(until=lambda w: w.view().deleted, ticks=60)
    assert len(world.machines.vms) == 3
    assert all(world.kafka.is_running(b) for b in THEIRS)


def a_static_quorum_of_others_is_made_dynamic(world: World) -> None:
    """No VM is made for it before its owner asks; then nothing may be missing while the level is raised, for good."""
    made_by_others(world.kafka, voters=VOTERS, static=True)
    world.declare(an_external_document(voters=VOTERS, ours=3))
    world.kafka.stop_controller(11)
    for _ in range(30):
        world.tick()
    assert not world.machines.created
    world.declare(an_external_document(voters=VOTERS, ours=3, quorum="dynamic"))
    for _ in range(60):
        world.tick()
    assert world.kafka.finalised[KRAFT] == 0
    world.kafka.start_controller(11)
    world.converge()
    assert world.kafka.finalised[KRAFT] == 1
    assert len(world.machines.vms) == 3
    assert sorted(world.kafka.voters()) == list(VOTERS)


def a_quorum_of_an_older_kafka_stays_static(world: World) -> None:
    """Kafka itself raises the level from 4.1 on; that all of them run it is known once metadata.version is there."""
    made_by_others(world.kafka, voters=VOTERS, static=True)
    world.kafka.finalised[METADATA] = 25
    world.declare(an_external_document(voters=VOTERS, ours=3, quorum="dynamic"))
    for _ in range(30):
        world.tick()
    assert world.kafka.finalised[KRAFT] == 0
    assert not world.machines.created
    world.kafka.finalised[METADATA] = 27
    world.converge()
    assert world.kafka.finalised[KRAFT] == 1
    assert len(world.machines.vms) == 3


SCENARIOS = (
    a_cluster_of_others_is_imported,
    brokers_of_others_are_emptied_onto_a_pool,
    a_wrong_cluster_answers,
    a_broker_of_others_is_named_again,
    an_emptied_broker_of_others_fills_up_and_serves_on,
    deleted_while_others_run_the_rest,
    a_static_quorum_of_others_is_made_dynamic,
    a_quorum_of_an_older_kafka_stays_static,
)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
def test_a_story_of_an_import_goes_as_recorded(scenario: Callable[[World], None]) -> None:
    assert_told_as_recorded(scenario)
