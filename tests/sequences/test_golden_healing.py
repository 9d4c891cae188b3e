"""The stories of findings and their cures, told and compared as those of rolls are (`test_golden_rolls`)."""

from collections.abc import Callable

import pytest

from tests.builders import a_document
from tests.sequences.recorded import assert_told_as_recorded
from tests.sim.world import World


def _grown(world: World, **spec: object) -> None:
    world.declare(a_document(**spec))
    world.converge()
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)


def _watch(world: World, seconds: float) -> None:
    until = world.seconds + seconds
    while world.seconds < until:
        world.tick()


def _types(world: World) -> list[str]:
    return [r.type for r in world.history()]


def deadlock_is_cured_by_a_restart(world: World) -> None:
    """It has to last first; then one restart, under the gate of every restart, and nothing else."""
    _grown(world)
    before = sorted(i.key for i in world.view().alive())
    world.machines.become_unhealthy("brokers-b-0.g1", "deadlock")
    _watch(world, 150)
    assert sorted(i.key for i in world.view().alive()) == before
    assert _types(world).count("healing.requested") == 1
    assert _types(world).count("restart.completed") == 1
    assert world.machines.illnesses == {}


def illness_that_comes_back_gets_a_new_vm(world: World) -> None:
    """The restart did not last: after its rest the node is replaced, its replicas moved first."""
    _grown(world)
    world.machines.become_unhealthy("brokers-b-0.g1", "memory_leak", lasts=True)
    _watch(world, 760)
    assert [r.data["cure"] for r in world.history() if r.type == "healing.requested"] == ["restart", "replace"]
    assert "brokers-b-0.g2" in {i.key for i in world.view().alive()}
    assert world.is_converged()


def failed_disk_gets_a_new_vm_at_once(world: World) -> None:
    """No process brings a disk back."""
    _grown(world)
    world.machines.become_unhealthy("brokers-c-0.g1", "log_dir_failed")
    _watch(world, 600)
    assert [r.data["cure"] for r in world.history() if r.type == "healing.requested"] == ["replace"]
    assert "brokers-c-0.g2" in {i.key for i in world.view().alive()}


def sick_broker_does_not_stop_a_roll(world: World) -> None:
    """It becomes unhealthy while the roll runs: the node in hand is finished, the sick one is cured, then the roll goes
    on."""
    _grown(world)
    world.declare(a_document(version="4.2.0"))
    _watch(world, 20)
    world.machines.become_unhealthy("brokers-c-0.g1", "deadlock")
    world.converge(ticks=600)
    assert {i.planned.kafka_version for i in world.view().alive()} == {"4.2.0"}


def full_disk_is_told_and_left_to_people(world: World) -> None:
    """More disk or less data: nothing that a new process or a new VM would change."""
    _grown(world)
    world.machines.become_unhealthy("brokers-a-0.g1", "disk_full:data")
    _watch(world, 300)
    assert "healing.requested" not in _types(world)


def healing_switched_off_is_told(world: World) -> None:
    """Nothing is done without asking, and the condition says what would have been."""
    _grown(world, healing="restart: false, replace: false")
    world.machines.become_unhealthy("brokers-a-0.g1", "deadlock")
    _watch(world, 150)
    assert "healing.requested" not in _types(world)
    unhealthy = world.view().conditions["Ailing"]
    assert (unhealthy.status, unhealthy.reason) == (True, "GaveUp")
    assert "the spec allows no restart without asking" in unhealthy.message


def sick_fleet_is_not_cured_to_death(world: World) -> None:
    """Every broker is unhealthy, again and again: each is restarted, and none gets a new VM for what all of them
    have."""
    _grown(world)
    for rack in "abc":
        world.machines.become_unhealthy(f"brokers-{rack}-0.g1", "heap_full", lasts=True)
    _watch(world, 1300)
    assert [r.data["cure"] for r in world.history() if r.type == "healing.requested"] == ["restart"] * 3
    told = world.view().conditions["Ailing"]
    assert told.reason == "GaveUp"
    assert "3 of 3 have it or were cured of it within 6 h" in told.message


STORIES = (
    deadlock_is_cured_by_a_restart,
    illness_that_comes_back_gets_a_new_vm,
    failed_disk_gets_a_new_vm_at_once,
    sick_broker_does_not_stop_a_roll,
    full_disk_is_told_and_left_to_people,
    healing_switched_off_is_told,
    sick_fleet_is_not_cured_to_death,
)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_the_story_of_a_cure_is_as_it_was(story: Callable[[World], None]) -> None:
    assert_told_as_recorded(story)
