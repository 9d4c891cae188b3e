"""A bad image makes every cluster unhealthy: the fleet begins so many cures, says why no more, and goes on after a
person."""

from controlplane.converger.situation.cure_budget import FleetCures
from controlplane.converger.tick.fleet_brake import FleetBrake
from events import facts
from tests.builders import a_document
from tests.sim.imagefleet import OneOfTheBrake
from tests.sim.world import World


def test_of_a_fleet_that_is_unhealthy_no_more_are_cured_than_the_brake_lets() -> None:
    brake = FleetBrake(cures=FleetCures(2))
    worlds = [_unhealthy(brake, name) for name in ("a", "b", "c")]
    for _ in range(40):
        for world in worlds:
            world.tick()
    assert [_cures(world) for world in worlds] == [1, 1, 0]
    unhealthy = worlds[2].view().conditions["Ailing"]
    assert (unhealthy.status, unhealthy.reason) == (True, "FleetBrake")
    assert "2 cures in 2 clusters within a day" in unhealthy.message

    worlds[0].person(facts.ClusterResumed("it was the image: withdrawn"))
    for _ in range(40):
        for world in worlds:
            world.tick()
    assert [_cures(world) for world in worlds] == [1, 1, 1]
    assert not worlds[2].view().conditions["Ailing"].status


def test_a_founding_whose_vms_never_boot_holds_no_roll_back_and_two_of_them_do() -> None:
    brake = FleetBrake()
    first, second = (_born(brake, name) for name in ("a", "b"))
    founding = [_founding_in_vain(brake, "c")]
    first.declare(a_document(version="4.2.0"))
    first.converge()

    founding.append(_founding_in_vain(brake, "d"))
    second.declare(a_document(version="4.2.0"))
    for _ in range(10):
        second.tick()
    assert "2 foundings with Kafka 4.2.0 failed in the fleet" in second.sentence()
    founding[0].converge()
    second.converge()


def _born(brake: FleetBrake, name: str) -> World:
    world = _begun(brake, name, "4.1.1")
    world.converge()
    return world


def _founding_in_vain(brake: FleetBrake, name: str) -> World:
    """Two of its brokers have missed their join, and their next VMs are on their way."""
    world = _begun(brake, name, "4.2.0")
    world.machines.stillborn |= {"brokers-a-0", "brokers-b-0"}
    world.run(until=lambda w: sum(r.type == "instance.join_failed" for r in w.history()) == 2, ticks=60)
    return world


def _begun(brake: FleetBrake, name: str, version: str) -> World:
    world = World(tick_s=5.0, version=version)
    world.brake = OneOfTheBrake(brake, name)
    world.start_server()
    world.declare(a_document(version=version))
    return world


def _unhealthy(brake: FleetBrake, name: str) -> World:
    world = _born(brake, name)
    world.machines.become_unhealthy("brokers-a-0.g1", "deadlock")
    return world


def _cures(world: World) -> int:
    return sum(r.type == "healing.requested" for r in world.history())
