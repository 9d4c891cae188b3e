"""Whom a deletion stops when: brokers, then who keeps their metadata, whatever dies in between."""

import pytest

from events import facts
from tests.builders import a_cohosted_document, a_document
from tests.sim.crashes import Crashes
from tests.sim.evidence import Violation
from tests.sim.world import World


def deleted_after_its_birth(world: World) -> None:
    world.declare(a_document())
    world.converge()
    _deleted(world)


def _deleted(world: World) -> None:
    world.person(facts.ClusterDeletionRequested("orders", "no longer needed"))
    world.run(until=lambda w: w.view().deleted, ticks=400)
    assert not world.machines.vms


def _seconds(world: World, begin: str, end: str) -> float:
    at = {e.type: e.recorded_at for e in world.history()}
    return (at[end] - at[begin]).total_seconds()


def _cohosted() -> World:
    world = World(version="3.8.1")
    world.declare(a_cohosted_document())
    world.converge()
    return world


CRASHES = Crashes(deleted_after_its_birth)


@pytest.mark.parametrize("kind", ["after quorum.stop_requested", "after destroy.requested"])
def test_a_server_that_dies_in_a_deletion_goes_on_with_it(kind: str) -> None:
    CRASHES.at(CRASHES.last(kind))


def test_servers_beside_brokers_stop_once_the_last_broker_has() -> None:
    world = _cohosted()
    _deleted(world)
    kinds = [e.type for e in world.history()]
    assert kinds[-3:] == ["quorum.stop_requested", "destroy.requested", "cluster.deleted"]


def test_a_broker_whose_agent_hears_nothing_any_more_costs_its_time_once() -> None:
    world = World()
    world.machines.holds_mounted = True
    world.declare(a_document())
    world.converge()
    world.machines.vms["brokers-a-0.g1"].cut = "in"
    _deleted(world)
    assert 90 <= _seconds(world, "cluster.deletion_requested", "quorum.stop_requested") < 95
    assert _seconds(world, "quorum.stop_requested", "destroy.requested") < 5


def test_controllers_that_are_told_to_stop_with_the_brokers_are_noticed() -> None:
    """The model itself: there a broker would hang until it is killed."""
    world = World()
    world.declare(a_document())
    world.converge()
    world.person(facts.ClusterDeletionRequested("orders", "no longer needed"))
    world.person(facts.QuorumStopRequested("on a whim"))
    with pytest.raises(Violation, match="is to stop in order while all its controllers are told to stop"):
        world.tick()
