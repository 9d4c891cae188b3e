"""Members in a cluster's other places: whose firewall lets them in, and whose VMs wait for it."""

from dataclasses import replace

from controlplane.cluster.lifecycle import Phase
from providers.errors import CloudUnavailable
from tests.sim.networkworld import NetworkWorld


def moving(world: NetworkWorld) -> None:
    world.declare("orders")
    world.settle()
    world.move("orders", region="r2")


def test_the_first_vm_there_waits_until_both_sides_let_the_other_in() -> None:
    world = NetworkWorld()
    moving(world)
    world.tick()
    told = (
        "waits for the network default in aws/main/r2: being made",
        "waits for the network default in aws/main/r1, which does not let in members in aws/main/r2 yet: the firewall "
        "is being changed",
    )
    assert world.waits("orders") == told
    world.settle(4)
    assert world.waits("orders") == ()


def test_a_firewall_that_cannot_be_changed_holds_the_first_vm_back_and_says_why() -> None:
    world = NetworkWorld()
    moving(world)
    world.tick()
    world.refuse = CloudUnavailable("no answer")
    world.settle(4)
    (told,) = (one for one in world.waits("orders") if "members" in one)
    assert told.endswith("try 1 failed: CloudUnavailable: no answer")
    world.refuse = None
    world.settle(12)
    assert world.waits("orders") == ()


def test_who_stands_in_both_places_waits_for_no_firewall() -> None:
    """A person has let them in before Kedge did: what a cluster lives with is no reason to make it no VM."""
    world = NetworkWorld()
    moving(world)
    world.tick()
    world.join("orders")
    assert not any("members" in one for one in world.waits("orders"))


def test_where_vms_filter_packets_no_firewall_is_changed() -> None:
    world = NetworkWorld()
    world.declare("orders", account="filtering")
    world.settle()
    world.move("orders", region="r2", account="filtering")
    world.settle()
    assert [n.access.peers for n in world.view.existing()] == [(), ()]
    assert world.waits("orders") == ()


def test_a_network_of_two_clusters_lets_members_in_while_one_of_them_is_in_both() -> None:
    world = NetworkWorld()
    for name in ("orders", "carts"):
        world.declare(name)
    world.settle()
    for name in ("orders", "carts"):
        world.move(name, region="r2")
    world.settle()
    world.join("orders")
    world.arrive("orders")
    world.settle()
    assert all(n.access.peers for n in world.view.existing())
    world.join("carts")
    world.arrive("carts")
    world.settle()
    (left,) = world.view.existing()
    assert (left.place.region, left.access.peers) == ("r2", ())


def test_addresses_some_firewall_lets_in_are_given_to_nobody() -> None:
    world = NetworkWorld()
    moving(world)
    world.settle()
    view = world.view
    first, second = view.existing()
    alone = replace(view, networks={second.id: second})
    assert first.cidr in alone.taken()
    assert second.cidr in alone.taken()


def test_a_vm_that_is_retired_is_nobody_to_let_in() -> None:
    world = NetworkWorld()
    moving(world)
    world.settle()
    orders = world.clusters["orders"]
    gone = {k: replace(i, phase=Phase.RETIRED) for k, i in orders.instances.items()}
    world.clusters["orders"] = replace(orders, instances=gone)
    world.settle()
    assert [n.access.peers for n in world.view.existing()] == [(), ()]
