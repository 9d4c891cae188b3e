"""Who is let in at the port of a listener that names clients of its own: in networks that clusters share, as listeners
come and go, and in words of a plan."""

from collections.abc import Mapping
from dataclasses import replace

from controlplane.fleet.networks.decide import Door, Want
from controlplane.fleet.networks.fold import NetworkAccess
from providers.networks import FirewallPorts
from tests.sim.networkworld import NetworkWorld
from tests.unit.controlplane.fleet.networks.test_network_plans import changed

OFFICE, LAB, HOME = "192.168.8.0/24", "192.168.9.0/24", "192.168.10.0/24"


def wanted(*doors: Door, clients: tuple[str, ...] = (OFFICE,), ports: tuple[int, ...] = (9092, 9094)) -> Want:
    members = FirewallPorts((), (9093,))
    return Want().joined(["a"], clients, "orders", members.joined(FirewallPorts(ports, ())), (), doors)


def at(want: Want, known: NetworkAccess | None = None) -> Mapping[int, tuple[str, ...]]:
    return dict(want.access({}, known=known).port_clients)


def test_a_listener_without_its_own_has_the_clients_of_all() -> None:
    assert at(wanted(Door(9092), Door(9094))) == {}
    assert at(wanted(Door(9092), Door(9094, (OFFICE,)))) == {}, "the same in other words"


def test_one_with_its_own_lets_in_those_alone_and_one_with_none_nobody() -> None:
    assert at(wanted(Door(9092, ()), Door(9094, (LAB, HOME)))) == {9092: (), 9094: (HOME, LAB)}


def test_where_clusters_share_a_port_each_has_its_clients_let_in() -> None:
    one, other = wanted(Door(9094, (LAB,))), wanted(Door(9094, (HOME,)))
    ports = one.ports
    both = one.joined(["a"], (), "bills", ports, (), other.listeners)
    assert at(both)[9094] == (HOME, LAB)
    follows = one.joined(["a"], (), "bills", ports, (), (Door(9094),))
    assert at(follows)[9094] == (OFFICE, LAB), "one that names none keeps the clients of all, as before"


def test_brokers_that_listen_still_where_no_spec_does_keep_who_was_let_in() -> None:
    known = wanted(Door(9092), Door(9094, (LAB,))).access({})
    leaving = wanted(Door(9092))
    assert at(leaving, known) == {9094: (LAB,)}, "not the clients of all, who never were"
    assert at(replace(leaving, ports=FirewallPorts((9092,), (9093,))), known) == {}, "closed"


def a_world(*, clients: tuple[str, ...] = (OFFICE,), own: tuple[str, ...] | None = None) -> NetworkWorld:
    world = NetworkWorld()
    world.declare("orders", clients=clients, own=own)
    world.settle()
    return world


def own_of(world: NetworkWorld) -> Mapping[int, tuple[str, ...]]:
    (network,) = world.cloud.values()
    return dict(network.port_clients)


def test_a_network_is_made_with_them_changed_for_them_and_given_back_to_the_clients_of_all() -> None:
    world = a_world(own=(LAB,))
    assert own_of(world) == {9092: (LAB,)}
    world.declare("orders", clients=(OFFICE,), own=())
    world.settle()
    assert own_of(world) == {9092: ()}
    world.declare("orders", clients=(OFFICE,))
    world.settle()
    world.judge_settled()
    assert own_of(world) == {}
    (network,) = world.view.existing()
    assert (network.work, network.access.clients_at(9092)) == (None, frozenset({OFFICE}))


def test_a_port_stays_open_to_its_own_clients_until_the_last_broker_has_left_it() -> None:
    world = a_world(own=(LAB,))
    world.boot("orders", 9092)
    world.declare("orders", clients=(OFFICE,), port=9192)
    world.settle()
    assert own_of(world) == {9092: (LAB,)}
    world.boot("orders", 9192)
    world.settle()
    (network,) = world.view.existing()
    assert (own_of(world), network.access.ports.brokers) == ({}, (9192,))


def test_a_plan_says_who_is_let_in_at_which_port_and_who_no_more() -> None:
    world = a_world()
    view = changed(world, OFFICE)
    assert view.document is not None
    listener = view.document.spec.listeners[0].model_copy(update={"clients": (LAB,)})
    spec = view.document.spec.model_copy(update={"listeners": (listener,)})
    other = replace(view, document=view.document.model_copy(update={"spec": spec}))
    (told,) = world.reconciler.planned(other, list(world.clusters.values()))
    assert told == (
        f"network default in aws/main/r1 lets in {LAB} at port 9092 and lets in {OFFICE} no more at port 9092 "
        "(connections that stand go on); no VM is replaced"
    )
