"""What a plan says of who reaches brokers: who is let in, who is not any more, and that no VM is replaced for it."""

from dataclasses import replace

from controlplane.cluster.view import ClusterView
from controlplane.fleet.networks.reconciler import NetworkReconciler
from tests.sim.networkworld import NetworkWorld

OFFICE, LAB = "192.168.8.0/24", "192.168.9.0/24"


def a_world(*clients: str) -> NetworkWorld:
    world = NetworkWorld()
    world.declare("orders", clients=clients)
    world.settle()
    return world


def changed(world: NetworkWorld, *clients: str) -> ClusterView:
    """The cluster with other clients; the fleet has it as it is."""
    view = world.clusters["orders"]
    assert view.document is not None
    access = view.document.spec.access.model_copy(update={"clients": clients})
    spec = view.document.spec.model_copy(update={"access": access})
    return replace(view, document=view.document.model_copy(update={"spec": spec}))


def planned(world: NetworkWorld, *clients: str) -> tuple[str, ...]:
    return world.service.planned(changed(world, *clients))


def test_clients_that_come_and_go_are_named() -> None:
    (told,) = planned(a_world(OFFICE), LAB)
    assert told == (
        f"network default in aws/main/r1 lets in {LAB} and lets in {OFFICE} no more (connections that stand go on); "
        "no VM is replaced"
    )


def test_the_same_clients_are_not_worth_a_word() -> None:
    assert planned(a_world(OFFICE), OFFICE) == ()


def test_who_another_cluster_of_the_network_lets_in_stays() -> None:
    world = a_world(OFFICE)
    world.declare("bills", clients=(OFFICE, LAB))
    world.settle()
    assert planned(world) == ()
    assert planned(world, LAB) == ()


def test_a_network_that_is_to_be_made_is_made_with_its_clients() -> None:
    (told,) = planned(_undeclared(), OFFICE)
    assert "is made in aws/main/r1 first" in told


def test_where_vms_filter_packets_it_is_said_how_those_that_stand_follow() -> None:
    world = a_world()
    ports = replace(world.reconciler._ports, filters_packets=lambda place: True)
    reconciler = NetworkReconciler(ports, world.pool)
    for recorded in world.store.read_all(0):
        reconciler.take_in(recorded)
    (told,) = reconciler.planned(changed(world, OFFICE), list(world.clusters.values()))
    assert f"lets in {OFFICE}; no VM is replaced" in told
    assert "those that stand follow by their agents, within a minute" in told
    assert "PacketFilterBehind" in told


def test_members_of_the_place_a_pool_moves_to_are_let_in_where_it_is() -> None:
    world = a_world()
    before = world.clusters["orders"]
    world.move("orders", region="r2")
    moving = world.clusters["orders"]
    world.clusters["orders"] = replace(before, instances=moving.instances)
    made, told = world.service.planned(moving)
    assert "network default is made in aws/main/r2 first" in made
    assert told == ("network default in aws/main/r1 lets in members in aws/main/r2 first; no VM is replaced")
    world.clusters["orders"] = moving
    world.settle()
    assert world.service.planned(moving) == ()


def _undeclared() -> NetworkWorld:
    world = NetworkWorld()
    world.declare("orders")
    return world
