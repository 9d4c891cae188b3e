"""Clusters in several places, and pools that move from one to another, each told as a readable log."""

from collections.abc import Callable

import pytest

from controlplane.cluster.lifecycle import Phase
from controlplane.converger.situation.situation import LOSS_GRACE_S
from events import facts
from tests.builders import a_document
from tests.sequences.recorded import assert_told_as_recorded
from tests.sim.world import World

HERE, THERE = "local/default/local-1", "local/default/local-2"


def _born(world: World, **spec: object) -> None:
    world.declare(a_document(**spec))
    world.converge()
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)


def _places(world: World) -> dict[str, str]:
    return {key: vm.place for key, vm in world.machines.vms.items()}


def _is_here_alone(world: World) -> bool:
    return set(_places(world).values()) == {HERE}


def pools_in_two_regions(world: World) -> None:
    """Controllers in one region, brokers in another: born, a broker lost, rolled."""
    _born(world, brokers_in="local-2")
    assert {p for k, p in _places(world).items() if k.startswith("brokers")} == {THERE}
    assert {p for k, p in _places(world).items() if k.startswith("controllers")} == {HERE}
    world.machines.power_cut("brokers-b-0.g1")
    for _ in range(int(LOSS_GRACE_S) + 10):
        world.tick()
    world.converge()
    assert _places(world)["brokers-b-0.g2"] == THERE
    world.declare(a_document(version="4.2.0", brokers_in="local-2"))
    world.converge(ticks=900)


def deleted_in_both_regions(world: World) -> None:
    """A run for each region; nothing is over before both are empty."""
    world.declare(a_document(brokers_in="local-2"))
    world.converge()
    world.person(facts.ClusterDeletionRequested("orders", "no longer needed"))
    world.run(until=lambda w: w.view().deleted, ticks=200)
    assert not world.machines.vms
    assert world.machines.states == {HERE: set(), THERE: set()}


def brokers_move_to_another_region(world: World) -> None:
    """Rack by rack: a new broker there, the old one drained and retired here. The controllers stay."""
    _born(world)
    world.declare(a_document(brokers_in="local-2"))
    world.converge(ticks=900)
    assert {k.rpartition(".")[2] for k in _places(world) if k.startswith("brokers")} == {"g2"}
    assert {p for k, p in _places(world).items() if k.startswith("brokers")} == {THERE}
    assert not [t for t in world.machines.states[HERE] if "brokers" in t]


def a_reattach_pool_moves_by_copying(world: World) -> None:
    """No disk goes to another place: fresh ids, drained brokers."""
    reattach = {"strategy": "reattach", "max_unavailable": 1}
    _born(world, **reattach)
    world.declare(a_document(**reattach, brokers_in="local-2"))
    world.converge(ticks=900)
    assert sorted(i.service_id for i in world.view().brokers()) == [1003, 1004, 1005]
    world.declare(a_document(**reattach, brokers_in="local-2", version="4.2.0"))
    world.converge(ticks=900)
    assert sorted(i.service_id for i in world.view().brokers()) == [1003, 1004, 1005]
    assert not [t for t in world.machines.states[HERE] if "brokers" in t]


def a_move_to_other_zones(world: World) -> None:
    """Zones of other names are other nodes: all are made, then the old ones are emptied in one drain."""
    _born(world)
    world.declare(a_document(brokers_in="local-2", zones="d, e, f"))
    world.converge(ticks=900)
    assert sorted(i.node for i in world.view().brokers()) == ["brokers-d-0", "brokers-e-0", "brokers-f-0"]
    assert not [t for t in world.machines.states[HERE] if "brokers" in t]


def a_move_that_is_aborted_goes_back(world: World) -> None:
    """Before its drain the newcomer is taken back; the former place in the spec leaves nothing to do."""
    _born(world)
    world.declare(a_document(brokers_in="local-2"))
    world.run(until=lambda w: any(i.phase is Phase.LAUNCHED for i in w.view().brokers()), ticks=200)
    world.person(facts.RecycleAborted("second thoughts"))
    world.hold()
    assert _is_here_alone(world)
    world.declare(a_document())
    world.person(facts.ClusterResumed("stay here"))
    world.converge()
    assert _is_here_alone(world)
    assert world.machines.states[THERE] == set()


def a_move_that_is_taken_back_half_way(world: World) -> None:
    """One rack has moved: it comes back by the same way."""
    _born(world)
    world.declare(a_document(brokers_in="local-2"))
    world.run(until=lambda w: "brokers-a-0.g1" not in w.machines.vms, ticks=400)
    world.declare(a_document())
    world.converge(ticks=900)
    assert _is_here_alone(world)
    assert world.machines.states[THERE] == set()


def one_region_falls_silent(world: World) -> None:
    """What is there is unknown, not gone; what is lost elsewhere is mended meanwhile."""
    _born(world, brokers_in="local-2")
    world.machines.silent.add(HERE)
    world.machines.power_cut("brokers-b-0.g1")
    for _ in range(int(LOSS_GRACE_S) + 60):
        world.tick()
    assert _places(world)["brokers-b-0.g2"] == THERE
    assert not [i.key for i in world.view().controllers() if i.lost]
    world.machines.silent.clear()
    world.converge()


SCENARIOS = (
    pools_in_two_regions,
    deleted_in_both_regions,
    brokers_move_to_another_region,
    a_reattach_pool_moves_by_copying,
    a_move_to_other_zones,
    a_move_that_is_aborted_goes_back,
    a_move_that_is_taken_back_half_way,
    one_region_falls_silent,
)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
def test_the_story_of_a_place_is_the_one_on_record(scenario: Callable[[World], None]) -> None:
    assert_told_as_recorded(scenario)
