"""The stories of clusters whose ZooKeeper servers share the VMs of one pool, with brokers of another pool beside them,
or that leave for a pool of their own; told and compared as those of rolls are (`test_golden_rolls`)."""

from collections.abc import Callable

import pytest

from tests.builders import a_cohosted_document, a_document, a_zookeeper_document
from tests.sequences.recorded import told_as_recorded_by
from tests.sim.world import World

AWAY = ("others-a-0", "others-b-0", "others-c-0")


def _born(world: World, size: int = 3) -> None:
    world.declare(a_cohosted_document(brokers=size, others=3))
    world.converge()
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)


def _kinds(world: World) -> list[str]:
    return [r.type for r in world.history()]


def _told_away(world: World) -> list[str]:
    """Nodes of the other pool whose brokers were started anew, in order."""
    asked = [r.data["key"] for r in world.history() if r.type == "restart.requested"]
    return [key.rpartition(".")[0] for key in asked if key.startswith("others")]


def _all_know_a_majority(world: World) -> None:
    view = world.view()
    servers = {i.service_id: i.planned.volumes[0].directory_id for i in view.controllers()}
    assert world.kafka.voters() == servers
    assert world.kafka.under_min_isr_s == 0
    assert all(
        i.start.listed is not None and len(i.start.listed & servers.keys()) > len(servers) // 2 for i in view.brokers()
    )


def brokers_elsewhere_are_told_while_a_shared_ensemble_rolls(world: World) -> None:
    """Three servers come and three go: one start of each broker elsewhere, before the second one goes."""
    _born(world)
    world.declare(a_cohosted_document(machine="medium", others=3))
    world.converge(ticks=900)
    assert _told_away(world) == list(AWAY)
    kinds = [k for k in _kinds(world) if k in ("voter.removed", "restart.requested")]
    assert kinds[:5] == ["voter.removed", *["restart.requested"] * 3, "voter.removed"]
    _all_know_a_majority(world)


def brokers_elsewhere_roll_beside_a_shared_ensemble(world: World) -> None:
    """No vote is changed, and nobody is started anew; the pool comes and goes as any other."""
    _born(world)
    world.declare(a_cohosted_document(others=3, others_machine="medium"))
    world.converge(ticks=600)
    world.declare(a_cohosted_document())
    world.converge(ticks=400)
    kinds = _kinds(world)
    assert not {k for k in kinds if k.startswith(("voter.", "restart."))}
    assert len(world.machines.vms) == 3
    _all_know_a_majority(world)


def shared_ensemble_of_5_becomes_3_beside_another_pool(world: World) -> None:
    """Three of five are enough for the brokers elsewhere: nobody is told. Then two of the three are replaced."""
    _born(world, size=5)
    world.declare(a_cohosted_document(others=3))
    world.converge(ticks=600)
    assert _told_away(world) == []
    world.declare(a_cohosted_document(others=3, machine="medium"))
    world.converge(ticks=900)
    assert _told_away(world) == list(AWAY)
    _all_know_a_majority(world)


def broker_elsewhere_dies_when_it_is_to_be_told(world: World) -> None:
    """Its VM is replaced first; the emptied VM, whose server is known to the others, waits for that."""
    _born(world)
    world.declare(a_cohosted_document(machine="medium", others=3))
    world.run(until=lambda w: _kinds(w).count("instance.drained") == 2, ticks=400)
    world.machines.power_cut("others-b-0.g1")
    world.converge(ticks=900)
    kinds = _kinds(world)
    second = [n for n, k in enumerate(kinds) if k == "voter.remove_requested"][1]
    assert kinds.index("instance.lost") < kinds.index("restart.requested") < second
    assert _told_away(world) == ["others-a-0", "others-c-0"], "the VM that comes in its place is told all by its birth"
    _all_know_a_majority(world)


def only_server_moves_with_its_vm_beside_another_pool(world: World) -> None:
    """An ensemble of one: brokers elsewhere are told of the next server before the only one they know leaves."""
    world.declare(a_cohosted_document(brokers=1, zones="a", others=3))
    world.converge()
    world.declare(a_cohosted_document(brokers=1, zones="a", others=3, machine="medium"))
    world.converge(ticks=600)
    assert len(_told_away(world)) == 3
    kinds = [k for k in _kinds(world) if k in ("voter.added", "restart.requested", "voter.removed")]
    assert kinds == ["voter.added", *["restart.requested"] * 3, "voter.removed"]
    _all_know_a_majority(world)


def _moved_out(world: World, servers: int = 3) -> None:
    """The servers are in their own pool, and no broker has one beside it; those VMs are the ones of before."""
    view = world.view()
    assert {i.node.rpartition("-")[0][:-2] for i in view.controllers()} == {"zookeepers"}
    assert len(view.quorum.voters) == servers
    assert not any(vm.member and vm.member.up for vm in world.machines.vms.values())
    _all_know_a_majority(world)


def servers_beside_brokers_leave_for_a_pool_of_their_own(world: World) -> None:
    """The new ones vote first, every broker is started anew once, then the old ones leave; no VM of a broker goes. The
    cluster migrates to KRaft from there."""
    world.declare(a_cohosted_document(version="3.9.1"))
    world.converge()
    world.kafka.create_topic("orders", partitions=12, rf=3, min_isr=2, bytes_per_partition=50_000_000)
    world.declare(a_zookeeper_document(version="3.9.1"))
    world.converge()
    kinds = [k for k in _kinds(world) if k in ("voter.added", "restart.requested", "voter.removed")]
    assert kinds == [*["voter.added"] * 3, *["restart.requested"] * 3, *["voter.removed"] * 3]
    _moved_out(world)
    world.declare(a_document(version="3.9.1"))
    world.converge(ticks=600)
    assert (_kinds(world).count("migration.ended"), world.kafka.under_min_isr_s) == (1, 0)
    assert {i.service_id for i in world.view().brokers()} == {1000, 1001, 1002}


def vm_dies_while_its_server_is_to_leave_for_another_pool(world: World) -> None:
    """Its vote goes with it; the VM in its place has a broker alone."""
    _born(world)
    world.declare(a_zookeeper_document(others=3))
    world.run(until=lambda w: _kinds(w).count("voter.added") == 3, ticks=100)
    world.machines.power_cut("brokers-b-0.g1")
    world.converge(ticks=900)
    made = world.view().of_node("brokers-b-0")[-1].planned
    assert (made.generation, made.member) == (2, None)
    _moved_out(world)


def five_servers_beside_brokers_become_three_of_their_own_while_all_roll(world: World) -> None:
    """A roll in the same spec: VMs are replaced without servers, the emptied ones' leave as they go."""
    _born(world, size=5)
    world.declare(a_zookeeper_document(brokers=5, others=3, machine="medium"))
    world.converge(ticks=1500)
    assert {i.planned.shape for i in world.view().brokers() if i.planned.pool == "brokers"} == {"medium"}
    _moved_out(world)


def brokers_are_handed_over_once_their_servers_have_left(world: World) -> None:
    """`reattach`, which servers beside brokers do not allow: ids and disks stay, and no vote is changed for it."""
    _born(world)
    world.declare(a_zookeeper_document(others=3))
    world.converge()
    changes = [k for k in _kinds(world) if k.startswith("voter.")]
    world.declare(a_zookeeper_document(others=3, strategy="reattach", max_unavailable=1, machine="medium"))
    world.converge(ticks=900)
    assert [k for k in _kinds(world) if k.startswith("voter.")] == changes
    assert "drain.requested" not in _kinds(world)
    assert {i.service_id for i in world.view().brokers()} == set(range(1000, 1006))
    _moved_out(world)


STORIES = (
    brokers_elsewhere_are_told_while_a_shared_ensemble_rolls,
    brokers_elsewhere_roll_beside_a_shared_ensemble,
    shared_ensemble_of_5_becomes_3_beside_another_pool,
    broker_elsewhere_dies_when_it_is_to_be_told,
    only_server_moves_with_its_vm_beside_another_pool,
    servers_beside_brokers_leave_for_a_pool_of_their_own,
    vm_dies_while_its_server_is_to_leave_for_another_pool,
    five_servers_beside_brokers_become_three_of_their_own_while_all_roll,
    brokers_are_handed_over_once_their_servers_have_left,
)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_the_story_of_a_shared_ensemble_is_told_as_recorded(story: Callable[[World], None]) -> None:
    told_as_recorded_by(World(version="3.8.1"), story)
