"""Migrations from ZooKeeper to KRaft, half of the way and back and all of it, under crashes of the server and seeded
trouble: the usual properties after every step, and what the fake's migration raises (`tests/fakes/migration.py`)."""

import random

import pytest

from controlplane.kafka.zookeeper.migration import Knows
from events import facts
from tests.builders import a_document, a_zookeeper_document
from tests.sim.crashes import Crashes
from tests.sim.services import path_of
from tests.sim.stories import count_told, life_of_a_migration
from tests.sim.sweep import sweep
from tests.sim.world import World

TWO = ", count: 2"
NEW_KINDS = ("migration.", "forget_migration")

CRASHES = Crashes(life_of_a_migration, version="3.9.1")


def _one_of_each_kind() -> list[int]:
    kinds = {p for p in CRASHES.points if any(kind in p for kind in NEW_KINDS)}
    return sorted(CRASHES.points.index(name) + 1 for name in kinds)


@pytest.mark.parametrize("point", _one_of_each_kind(), ids=CRASHES.id_of)
def test_a_migration_survives_a_crash_at(point: int) -> None:
    CRASHES.at(point)


def test_what_is_new_is_among_the_crashes() -> None:
    told = " ".join(CRASHES.points)
    assert all(kind in told for kind in NEW_KINDS)


@pytest.mark.parametrize("seed", range(7600, 7603))
def test_a_migration_arrives_after_seeded_trouble(seed: int) -> None:
    _troubled(seed)


def test_seed_7747_a_restart_that_was_not_heard_in_time_is_not_obeyed_once_another_broker_is_down() -> None:
    _troubled(7747)


def test_seed_7731_a_broker_that_comes_back_is_not_told_to_be_registered_wrongly() -> None:
    _troubled(7731)


def test_a_migration_waits_for_the_disk_that_fails_under_a_broker_and_goes_on_once_it_is_mended() -> None:
    """The broker ends over it (KAFKA-16431) and comes up without; nobody else is told anything meanwhile."""
    world = World(version="3.9.1")
    world.declare(a_zookeeper_document(version="3.9.1", disks=TWO))
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=6, rf=3, min_isr=2, bytes_per_partition=20_000_000)
    world.declare(a_document(version="3.9.1", disks=TWO))
    world.run(until=lambda w: w.kafka.serves(1000) and count_told(w, Knows.BOTH) == 1, ticks=300)
    world.machines.fail_disk("brokers-a-0.g1", "data2")
    assert not world.kafka.is_running(1000)
    world.run(until=lambda w: "MigrationStuck" in str(w.view().conditions.get("Blocked")), ticks=300)
    assert (world.kafka.is_running(1000), count_told(world, Knows.BOTH)) == (True, 1)
    assert "waiting for 1000 to be back in sync" in world.sentence()

    world.kafka.renew_dir(1000, path_of("data2"))
    world.machines.failed_disks.clear()
    world.converge(ticks=900)
    assert world.kafka.migration.mode == "kraft"


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_migrations_arrive_after_seeded_trouble() -> None:
    sweep("migration, seed", range(7700, 7850), _troubled)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_migration_survives_a_crash_at_every_single_point() -> None:
    CRASHES.at_every_single_point()


def _troubled(seed: int) -> None:
    """VMs and processes that die, a server that is replaced, a person who changes their mind; then quiet."""
    world, dice = World(seed=seed, version="3.9.1"), random.Random(seed)
    policy = {"strategy": "reattach", "max_unavailable": 1} if seed % 2 else {}
    before, after = a_zookeeper_document(version="3.9.1", **policy), a_document(version="3.9.1", **policy)
    world.declare(before)
    world.converge(ticks=200)
    world.kafka.create_topic("orders", partitions=6, rf=3, min_isr=2, bytes_per_partition=20_000_000)
    world.declare(after)
    for _ in range(400):
        world.tick()
        if dice.random() < 0.02 and world.machines.are_well and world.kafka.is_at_rest():
            _trouble(world, dice)
        view = world.view()
        if (
            dice.random() < 0.004
            and not (view.quorum.migration and view.quorum.migration.has_no_way_back)
            and view.in_zookeeper_mode
        ):
            is_back = view.document is not None and view.document.spec.kafka.mode == "zookeeper"
            world.declare(after if is_back else before)
    for vm in world.machines.vms.values():
        vm.deaf = False
    if world.view().in_zookeeper_mode:
        world.declare(after)
    world.person(facts.ClusterResumed("the trouble is over"))
    world.converge(ticks=2500)
    view = world.view()
    assert not view.in_zookeeper_mode
    assert {i.planned.service for i in view.alive()} == {"broker", "controller"}
    assert set(world.kafka.migration.knows.values()) == {Knows.QUORUM}


def _trouble(world: World, dice: random.Random) -> None:
    keys = sorted(k for k, vm in world.machines.vms.items() if vm.alive and vm.process is not None and vm.process.up)
    what = dice.choice(("vm", "process", "process", "server", "deaf"))
    if what == "server":
        world.start_server()
        return
    if not keys:
        return
    key = dice.choice(keys)
    if what == "vm":
        world.machines.power_cut(key)
        world.disturbed()
    elif what == "process":
        world.machines.stop_process(key)
    else:
        world.machines.vms[key].deaf = not world.machines.vms[key].deaf
