"""A bad image makes every cluster ill: the fleet begins so many cures, says why no more, and goes on after a person."""

from controlplane.converger.curebudget import FleetCures
from controlplane.converger.fleet import FleetBrake
from events import facts
from tests.builders import a_document
from tests.sim.imagefleet import OneOfTheBrake
from tests.sim.world import World


def test_of_a_fleet_that_is_ill_no_more_are_cured_than_the_brake_lets() -> None:
    brake = FleetBrake(cures=FleetCures(2))
    worlds = [_ill(brake, name) for name in ("a", "b", "c")]
    for _ in range(40):
        for world in worlds:
            world.tick()
    assert [_cures(world) for world in worlds] == [1, 1, 0]
    ailing = worlds[2].view().conditions["Ailing"]
    assert (ailing.status, ailing.reason) == (True, "FleetBrake")
    assert "2 cures in 2 clusters within a day" in ailing.message

    worlds[0].person(facts.ClusterResumed("it was the image: withdrawn"))
    for _ in range(40):
        for world in worlds:
            world.tick()
    assert [_cures(world) for world in worlds] == [1, 1, 1]
    assert not worlds[2].view().conditions["Ailing"].status


def _ill(brake: FleetBrake, name: str) -> World:
    world = World(tick_s=5.0)
    world.brake = OneOfTheBrake(brake, name)
    world.start_server()
    world.declare(a_document())
    world.converge()
    world.machines.fall_ill("brokers-a-0.g1", "deadlock")
    return world


def _cures(world: World) -> int:
    return sum(r.type == "healing.requested" for r in world.history())
