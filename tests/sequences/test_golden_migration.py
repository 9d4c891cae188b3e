"""The stories of clusters that go from ZooKeeper to KRaft, told and compared as those of rolls are
(`test_golden_rolls`): forward, and back from each side of the moment in which the quorum takes over."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from controlplane.kafka.zookeeper.migration import Knows
from controlplane.storage.streams import FREEZES
from events import facts
from events.codec import encode
from events.envelope import Origin
from tests.builders import a_document, a_zookeeper_document
from tests.fakes.event_store import MemoryEventStore
from tests.sequences.recorded import told_as_recorded_by
from tests.sim.stories import count_told, turned_when
from tests.sim.world import World

ZOOKEEPER = a_zookeeper_document(version="3.9.1")
KRAFT = a_document(version="3.9.1")


def _born(world: World) -> None:
    world.declare(ZOOKEEPER)
    world.converge()
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)


def _kinds(world: World) -> list[str]:
    return [r.type for r in world.history()]


def _starts(world: World) -> list[tuple[str, str]]:
    """(service, what it was told) of every start of the migration, one for each event."""
    return [(r.data["service"], r.data["knows"]) for r in world.history() if r.type == "migration.service_started"]


def _is_krafts(world: World) -> None:
    view = world.view()
    assert (view.in_zookeeper_mode, view.quorum.migration, view.quorum.protocol) == (False, None, "")
    assert {i.planned.service for i in view.alive()} == {"broker", "controller"}
    assert world.kafka.migration.quorum_leads
    assert {k for s, k in world.kafka.migration.knows.items()} == {Knows.QUORUM}
    assert world.kafka.under_min_isr_s == 0


def zookeeper_cluster_becomes_krafts(world: World) -> None:
    """One edit of the spec; brokers are started twice, controllers twice, and the way back ends with the fourth."""
    _born(world)
    world.declare(KRAFT)
    world.converge(ticks=900)
    _is_krafts(world)
    assert _starts(world) == [
        ("controller", "both"),
        *[("broker", "both")] * 3,
        *[("broker", "the quorum")] * 3,
        *[("controller", "the quorum")] * 3,
    ]
    ends = [r.data["ends_way_back"] for r in world.history() if r.type == "migration.service_started"]
    assert ends.index(True) == 7
    assert ends.count(True) == 1


def migration_turns_back_before_the_quorum_leads(world: World) -> None:
    """The old spec again while two of three brokers know both: they go back, and the controllers' VMs with them."""
    _born(world)
    world.declare(KRAFT)
    turned_when(world, lambda w: count_told(w, Knows.BOTH) == 2, ZOOKEEPER)
    world.converge(ticks=900)
    assert world.view().in_zookeeper_mode
    assert {i.planned.service for i in world.view().alive()} == {"broker", "zookeeper"}
    assert not world.kafka.migration.has_migration
    assert world.kafka.under_min_isr_s == 0


def migration_turns_back_half_way_and_is_made_after_that(world: World) -> None:
    """Two brokers are KRaft's: all go back to both, the cut, then to ZooKeeper alone; then all the way forward, with
    controllers on new disks."""
    _born(world)
    world.declare(KRAFT)
    turned_when(world, lambda w: count_told(w, Knows.QUORUM) == 2, ZOOKEEPER)
    world.converge(ticks=900)
    assert world.view().in_zookeeper_mode
    assert world.kafka.migration.cuts >= 1
    assert _kinds(world).count("migration.service_stopped") == 2
    world.declare(KRAFT)
    world.converge(ticks=900)
    _is_krafts(world)


def migrated_cluster_becomes_4_1(world: World) -> None:
    """After the migration it is a KRaft cluster like any other: the next version is an ordinary roll."""
    _born(world)
    world.declare(KRAFT)
    world.converge(ticks=900)
    world.declare(a_document(version="4.1.1"))
    world.converge(ticks=900)
    assert {i.planned.kafka_version for i in world.view().alive()} == {"4.1.1"}
    assert world.kafka.finalised["metadata.version"] == 27


def migration_waits_for_a_window_before_it_ends_the_way_back(world: World) -> None:
    """All brokers are started anew inside its window; the point of no return comes after it, and waits for the next."""
    windows = ", windows: [{days: [wed], start: '23:46', duration: 15m}]"  # worlds begin at midnight
    world.declare(a_zookeeper_document(version="3.9.1", windows=windows, soak="60s"))
    world.converge()
    world.declare(a_document(version="3.9.1", windows=windows, soak="60s"))
    for _ in range(180):
        world.tick()
    assert count_told(world, Knows.QUORUM) == 3
    assert "controller 10" in world.sentence(), world.sentence()
    assert "waits for its window" in world.sentence()
    assert not any(r.data.get("ends_way_back") for r in world.history() if r.type == "migration.service_started")


def migration_rests_while_brokers_may_not_be_started_anew(world: World) -> None:
    """A freeze begins half of the way: no further broker that serves is touched, the lock is for others, and it goes on
    after that. The way back does not wait."""
    _born(world)
    world.declare(KRAFT)
    world.run(until=lambda w: count_told(w, Knows.QUORUM) == 1, ticks=300)
    fact = facts.FreezeDeclared("freeze-1", world.clock() + timedelta(minutes=4), "the sale", ("orders",), (), {})
    MemoryEventStore.append(
        world.store, FREEZES, [encode(fact, "freezes-0")], expected_version=0, origin=Origin("person:anna")
    )
    world.disturbed()
    for _ in range(60):
        world.tick()
    assert count_told(world, Knows.QUORUM) == 1
    assert world.view().conditions["WaitsForWindow"].status
    assert world.lock_nodes.held == {}
    world.declare(ZOOKEEPER)
    world.converge(ticks=120)
    assert not world.view().conditions["WaitsForWindow"].status
    for _ in range(240):
        world.tick()
    world.declare(KRAFT)
    world.converge(ticks=900)
    _is_krafts(world)


def broker_that_dies_half_way_is_replaced_in_place(world: World) -> None:
    """Its VM dies while it knows both: its disk and id go to the next VM, under `migrate`, too, since nothing can be
    moved meanwhile; and the migration goes on from there."""
    _born(world)
    world.declare(KRAFT)
    for _ in range(300):
        if count_told(world, Knows.BOTH) == 2:
            break
        world.tick()
    world.machines.power_cut("brokers-a-0.g1")
    world.converge(ticks=1500)
    _is_krafts(world)
    there = {i.node: (i.planned.generation, i.service_id) for i in world.view().brokers()}
    assert there["brokers-a-0"] == (2, 1000)


def controller_that_dies_half_way_is_replaced_in_place(world: World) -> None:
    """Its VM dies after the quorum has taken over: id, disk and address pass on, the quorum stays the one it was."""
    _born(world)
    world.declare(KRAFT)
    for _ in range(300):
        if count_told(world, Knows.QUORUM) == 1:
            break
        world.tick()
    world.machines.power_cut("controllers-b-0.g1")
    world.converge(ticks=1500)
    _is_krafts(world)
    assert {i.node: i.planned.generation for i in world.view().controllers()}["controllers-b-0"] == 2


def pause_holds_a_migration_between_two_steps(world: World) -> None:
    """A broker that was stopped for the cut is started all the same; nothing else happens until somebody resumes."""
    _born(world)
    world.declare(KRAFT)
    turned_when(world, lambda w: count_told(w, Knows.QUORUM) == 1, ZOOKEEPER)
    for _ in range(300):
        if "migration.service_stopped" in _kinds(world):
            break
        world.tick()
    world.person(facts.ClusterPaused("lunch", None))
    for _ in range(60):
        world.tick()
    view = world.view()
    assert view.quorum.migration is not None
    assert Knows.STOPPED not in {k for b, k in view.quorum.migration.knows.items() if b >= 1000}
    assert count_told(world, Knows.ENSEMBLE) == 1, "the cut was seen through, and nothing more"
    world.person(facts.ClusterResumed("back"))
    world.converge(ticks=900)
    assert world.view().in_zookeeper_mode


STORIES = (
    zookeeper_cluster_becomes_krafts,
    migration_turns_back_before_the_quorum_leads,
    migration_turns_back_half_way_and_is_made_after_that,
    migrated_cluster_becomes_4_1,
    migration_waits_for_a_window_before_it_ends_the_way_back,
    migration_rests_while_brokers_may_not_be_started_anew,
    broker_that_dies_half_way_is_replaced_in_place,
    controller_that_dies_half_way_is_replaced_in_place,
    pause_holds_a_migration_between_two_steps,
)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_the_story_of_a_migration_is_told_as_recorded(story: Callable[[World], None]) -> None:
    told_as_recorded_by(World(version="3.9.1"), story)
