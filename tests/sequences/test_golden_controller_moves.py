"""Controllers that change their place, each told as a readable log."""

from collections.abc import Callable

import pytest

from controlplane.cluster.lifecycle import Phase
from events import facts
from providers.handover import Handover
from tests.builders import a_document
from tests.sequences.recorded import assert_told_as_recorded
from tests.sim.world import World

HERE, THERE = "local/default/local-1", "local/default/local-2"
MOVED = "cloud: local, region: local-2, zones: [a, b, c]"
OTHER_ZONES = "cloud: local, region: local-2, zones: [d, e, f]"


def _born(world: World, **spec: object) -> None:
    world.declare(a_document(**spec))
    world.converge()
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)


def _controllers_in(world: World) -> set[str]:
    return {vm.place for key, vm in world.machines.vms.items() if key.startswith("controllers")}


def _votes(world: World) -> dict[int, str]:
    """Who votes, and from which node."""
    nodes = {i.planned.volumes[0].directory_id: i.node for i in world.view().controllers()}
    return {voter: nodes[directory] for voter, directory in world.kafka.voters().items()}


def controllers_move_to_another_region(world: World) -> None:
    """One at a time, each under its id; between the first and the second brokers are told of where they go."""
    _born(world)
    world.declare(a_document(quorum_place=MOVED))
    world.converge(ticks=900)
    assert _controllers_in(world) == {THERE}
    assert _votes(world) == {100: "controllers-a-0", 101: "controllers-b-0", 102: "controllers-c-0"}
    assert not [t for t in world.machines.states[HERE] if "controllers" in t]
    told = {v.address for v in world.view().quorum.voters.values()}
    assert told == {world.view().vms.node_addresses[f"controllers-{z}-0"] for z in "abc"}
    world.declare(a_document(quorum_place=MOVED, version="4.2.0"))
    world.converge(ticks=1200)


def controllers_move_to_other_zones(world: World) -> None:
    """Nodes of other names take over the ids: none stays registered with an old version, so an upgrade goes through."""
    _born(world)
    world.declare(a_document(quorum_place=OTHER_ZONES))
    world.converge(ticks=900)
    assert _votes(world) == {100: "controllers-d-0", 101: "controllers-e-0", 102: "controllers-f-0"}
    assert not [t for t in world.machines.states[HERE] if "controllers" in t]
    world.declare(a_document(quorum_place=OTHER_ZONES, version="4.2.0"))
    world.converge(ticks=1200)


def all_of_a_cluster_moves(world: World) -> None:
    """Brokers first, then the controllers; the old place is empty."""
    _born(world)
    world.declare(a_document(quorum_place=MOVED, brokers_in="local-2"))
    world.converge(ticks=1500)
    assert {vm.place for vm in world.machines.vms.values()} == {THERE}
    assert world.machines.states[HERE] == set()


def a_move_of_controllers_that_is_aborted(world: World) -> None:
    """The newcomer has taken nothing over yet: it goes again."""
    _born(world)
    world.declare(a_document(quorum_place=MOVED))
    world.run(until=lambda w: any(i.phase is Phase.LAUNCHED for i in w.view().controllers()), ticks=200)
    world.person(facts.RecycleAborted("second thoughts"))
    world.hold()
    assert _controllers_in(world) == {HERE}
    world.declare(a_document())
    world.person(facts.ClusterResumed("stay here"))
    world.converge()
    assert _controllers_in(world) == {HERE}
    assert world.machines.states[THERE] == set()


def a_move_of_controllers_that_is_taken_back(world: World) -> None:
    """One has moved: it comes back by the same way."""
    _born(world)
    world.declare(a_document(quorum_place=MOVED))
    world.run(until=lambda w: "controllers-a-0.g1" not in w.machines.vms, ticks=400)
    world.declare(a_document())
    world.converge(ticks=900)
    assert _controllers_in(world) == {HERE}
    assert world.machines.states[THERE] == set()


def a_newcomer_that_dies_while_it_takes_over(world: World) -> None:
    """The old one is stopped, the new one is gone: its place is mended before anything else moves."""
    _born(world)
    world.declare(a_document(quorum_place=MOVED))
    world.run(until=lambda w: w.view().instances["controllers-a-0.g1"].phase is Phase.FENCED, ticks=400)
    world.machines.power_cut("controllers-a-0.g2")
    world.converge(ticks=1500)
    assert _controllers_in(world) == {THERE}
    assert set(_votes(world)) == {100, 101, 102}


def controllers_where_addresses_stay(world: World) -> None:
    """No address passes to another VM on this cloud: an upgrade moves each controller to a VM at another address."""
    world.machines.handover = Handover.NONE
    _born(world)
    world.declare(a_document(version="4.2.0"))
    world.converge(ticks=1500)
    assert {i.planned.generation for i in world.view().controllers()} == {2}
    assert not world.machines.addresses
    assert {v.address for v in world.view().quorum.voters.values()} == {i.address for i in world.view().controllers()}


SCENARIOS = (
    controllers_move_to_another_region,
    controllers_move_to_other_zones,
    all_of_a_cluster_moves,
    a_move_of_controllers_that_is_aborted,
    a_move_of_controllers_that_is_taken_back,
    a_newcomer_that_dies_while_it_takes_over,
    controllers_where_addresses_stay,
)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
def test_the_story_of_a_controller_that_moves_is_the_one_on_record(scenario: Callable[[World], None]) -> None:
    assert_told_as_recorded(scenario)
