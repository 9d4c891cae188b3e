"""The stories of networks Kedge makes, told and compared as those of rolls are (`test_golden_rolls`)."""

import os
from collections.abc import Callable

import pytest

from controlplane.fleet.networks.decide import AddressPool
from providers.errors import NotPermitted, QuotaExceeded
from providers.networks import FirewallPorts
from tests.sequences.recorded import GOLDEN
from tests.sim.networkworld import POOL, NetworkWorld

OFFICE, WAREHOUSE = "192.168.8.0/24", "192.168.9.0/24"
NOT_PERMITTED = NotPermitted("no identity-based policy allows it", "ec2:CreateVpc")


def network_is_made_and_shared(world: NetworkWorld) -> None:
    """Two clusters of one place share one; a zone more is a subnet more, and clients of both are let in."""
    world.declare("orders", zones=("a", "b"), clients=(OFFICE,))
    assert world.waits("orders")
    world.settle(12)
    assert not world.waits("orders")
    world.declare("carts", zones=("c",), clients=(WAREHOUSE,))
    world.tick()
    assert "nothing in c yet" in world.waits("carts")[0]
    assert not world.waits("orders")
    world.settle(25)
    world.judge_settled()


def network_of_two_accounts_is_two(world: NetworkWorld) -> None:
    """The same name in two accounts, and two names in one: three networks, no address twice."""
    world.declare("orders")
    world.declare("events", account="other")
    world.declare("carts", network="second")
    world.settle(12)
    assert len({str(n.cidr) for n in world.view.existing()}) == len(world.cloud) == 3
    world.judge_settled()


def network_cannot_be_made(world: NetworkWorld) -> None:
    """A quota: said in words, tried again after a pause, made once there is room."""
    world.refuse = QuotaExceeded("VpcLimitExceeded: the account has 5 networks and may have 5")
    world.declare("orders")
    world.settle(20)
    assert "VpcLimitExceeded" in world.waits("orders")[0]
    world.refuse = None
    world.settle(320)
    world.judge_settled()


def network_is_not_permitted_and_a_person_asks_again(world: NetworkWorld) -> None:
    """Tried again seldom; whoever has given the permission waits for none of that."""
    world.refuse = NOT_PERMITTED
    world.declare("orders")
    world.settle(400)
    (lacking,) = world.reconciler.waits_for(world.clusters["orders"])
    assert lacking.lacks_permission
    assert lacking.next_command == "kedge networks repair default --account main --region r1"
    world.refuse = None
    world.repair("default")
    world.settle(6)
    world.judge_settled()


def network_is_not_permitted_and_the_server_is_started_anew(world: NetworkWorld) -> None:
    """Credentials are read where a server starts: it tries at once what was refused to the one before, once."""
    world.refuse = NOT_PERMITTED
    world.declare("orders")
    world.settle(400)
    world.start_server()
    world.settle(60)
    world.refuse = None
    world.start_server()
    world.settle(6)
    world.judge_settled()


def network_firewall_is_not_permitted_half_way_and_a_person_asks_again(world: NetworkWorld) -> None:
    """What was asked for is tried again, not something less: that would have to take back what was made."""
    world.declare("orders")
    world.settle(12)
    world.refuse = NOT_PERMITTED
    world.declare("orders", clients=(OFFICE,))
    world.settle(12)
    world.refuse = None
    world.repair("default")
    world.settle(6)
    world.judge_settled()


def network_removal_is_not_permitted_and_a_person_asks_again(world: NetworkWorld) -> None:
    """Half of it may be gone: there is no way back, whoever comes to need it meanwhile."""
    world.declare("orders")
    world.settle(12)
    world.delete("orders")
    world.refuse_removals = NOT_PERMITTED
    world.remove("default")
    world.settle(12)
    world.declare("carts")
    world.settle(3)
    world.refuse_removals = None
    assert "kedge networks remove" in world.reconciler.waits_for(world.clusters["carts"])[0].next_command
    world.remove("default")
    world.settle(16)
    world.judge_settled()
    assert [n.id for n in world.view.existing()] == ["network-2-default"]


def network_pool_is_used_up(world: NetworkWorld) -> None:
    """The third network of a pool of two waits; a removal makes room."""
    world.pool = AddressPool(POOL.cidr, 17)
    world.start_server()
    world.declare("orders")
    world.declare("events", account="other")
    world.settle(12)
    world.declare("carts", network="second")
    world.settle(3)
    assert "has no /17 left" in world.waits("carts")[0]
    assert world.remove("default", account="other").startswith("refused")
    world.delete("events")
    world.remove("default", account="other")
    world.settle(30)
    world.judge_settled()
    assert {n.name for n in world.view.existing()} == {"default", "second"}


def network_with_vms_left_standing_stays(world: NetworkWorld) -> None:
    """A cluster was deleted and its VMs retained: the network waits for them, whoever asks."""
    world.declare("orders")
    world.settle(12)
    world.delete("orders", retain=True)
    world.remove("default")
    world.settle(20)
    assert len(world.cloud) == 1
    world.left_vms.clear()
    world.settle(12)
    assert world.cloud == {}


def network_is_needed_again_before_it_goes(world: NetworkWorld) -> None:
    """A cluster is declared between the removal's asking and its run: the network stays."""
    world.declare("orders")
    world.settle(12)
    world.delete("orders")
    world.remove("default")
    world.declare("carts")
    world.settle(12)
    world.judge_settled()
    assert [n.id for n in world.view.existing()] == ["network-1-default"]


def network_that_was_deleted_by_hand_is_repaired(world: NetworkWorld) -> None:
    """Nothing is made again by itself: a person asks, and what is missing comes with the same addresses."""
    world.declare("orders", clients=(OFFICE,))
    world.settle(12)
    del_by_hand = world.cloud["network-1-default"]
    del_by_hand.zones.clear()
    world.settle(5)
    assert del_by_hand.zones == set()
    world.repair("default")
    world.settle(12)
    world.judge_settled()


def network_with_other_ports(world: NetworkWorld) -> None:
    """A cluster waits until its ports are let in. An older port is closed once no broker stands at it, those of
    ZooKeeper once no cluster has an ensemble there."""
    world.declare("orders", clients=(OFFICE,))
    world.settle(12)
    world.boot("orders", 9092)
    world.declare("orders", clients=(OFFICE,), port=9192)
    world.tick()
    assert "does not let in port 9192 yet" in world.waits("orders")[0]
    world.settle(6)
    assert not world.waits("orders")
    assert world.cloud["network-1-default"].ports.brokers == (9092, 9192)
    world.boot("orders", 9192)
    world.settle(6)
    world.judge_settled()
    world.declare("legacy", mode="zookeeper")
    world.tick()
    assert "does not let in ports 2181, 2888, 3888, 9092 yet" in world.waits("legacy")[0]
    world.settle(6)
    world.judge_settled()
    assert not world.waits("legacy")
    world.delete("legacy")
    world.settle(6)
    world.judge_settled()
    assert (world.cloud["network-1-default"].ports) == FirewallPorts((9192,), (9093,))


def network_of_a_place_that_was_left(world: NetworkWorld) -> None:
    """It stands while a VM is in it, and goes by itself once the cluster has moved away."""
    world.declare("orders")
    world.settle(12)
    world.move("orders", region="r2")
    world.settle(12)
    assert {n.place.region for n in world.view.existing()} == {"r1", "r2"}
    world.arrive("orders")
    world.settle(12)
    assert {n.place.region for n in world.view.existing()} == {"r2"}
    assert len(world.cloud) == 1
    world.judge_settled()


def networks_of_a_move_let_each_other_in(world: NetworkWorld) -> None:
    """No VM is made there before each side lets the other in. Both do until the last VM is retired; who stays behind
    lets nobody in any more."""
    world.declare("orders", clients=(OFFICE,), port=9192)
    world.declare("carts")
    world.settle(12)
    world.move("orders", region="r2", clients=(OFFICE,), port=9192)
    world.tick()
    assert "waits for the network default in aws/main/r2" in world.waits("orders")[0]
    world.settle(3)
    assert not world.waits("carts")
    world.settle(12)
    assert not world.waits("orders")
    world.join("orders")
    world.settle(3)
    assert [sorted(n.peers) for n in world.cloud.values()] == [["10.64.16.0/20"], ["10.64.0.0/20"]]
    world.judge_settled()
    world.arrive("orders")
    world.settle(12)
    assert [sorted(n.peers) for n in world.cloud.values()] == [[], []]
    world.judge_settled()


def network_without_clusters_lets_in_none_that_is_removed(world: NetworkWorld) -> None:
    """A cluster in two places is deleted: what it has stays as it is until a person removes one of its networks."""
    world.declare("orders")
    world.settle(12)
    world.move("orders", region="r2")
    world.settle(12)
    world.join("orders")
    world.delete("orders")
    world.settle(12)
    assert [sorted(n.peers) for n in world.cloud.values()] == [["10.64.16.0/20"], ["10.64.0.0/20"]]
    world.remove("default", region="r1")
    world.settle(4)
    world.declare("late", region="r3")
    world.settle(20)
    assert {n.cidr: sorted(n.peers) for n in world.cloud.values()} == {"10.64.16.0/20": [], "10.64.32.0/20": []}
    world.declare("later", region="r4")
    world.settle(12)
    assert str(world.view.existing()[-1].cidr) == "10.64.0.0/20"


def network_of_a_place_others_are_in(world: NetworkWorld) -> None:
    """A cluster moves away from a network another one is in: it goes with that one. One made later stays."""
    world.declare("orders")
    world.declare("carts")
    world.settle(12)
    world.move("orders", region="r2")
    world.arrive("orders")
    world.settle(12)
    assert {n.place.region for n in world.view.existing()} == {"r1", "r2"}
    world.delete("carts")
    world.settle(12)
    assert {n.place.region for n in world.view.existing()} == {"r2"}
    world.declare("events")
    world.settle(12)
    world.delete("events")
    world.settle(12)
    assert {n.place.region for n in world.view.existing()} == {"r1", "r2"}


STORIES = (
    network_is_made_and_shared,
    network_of_two_accounts_is_two,
    network_cannot_be_made,
    network_is_not_permitted_and_a_person_asks_again,
    network_is_not_permitted_and_the_server_is_started_anew,
    network_firewall_is_not_permitted_half_way_and_a_person_asks_again,
    network_removal_is_not_permitted_and_a_person_asks_again,
    network_pool_is_used_up,
    network_with_vms_left_standing_stays,
    network_is_needed_again_before_it_goes,
    network_that_was_deleted_by_hand_is_repaired,
    network_with_other_ports,
    network_of_a_place_that_was_left,
    networks_of_a_move_let_each_other_in,
    network_without_clusters_lets_in_none_that_is_removed,
    network_of_a_place_others_are_in,
)


@pytest.mark.parametrize("scenario", STORIES, ids=lambda s: s.__name__)
def test_a_networks_story_is_told_as_recorded(scenario: Callable[[NetworkWorld], None]) -> None:
    world = NetworkWorld()
    scenario(world)
    told = "\n".join(world.story) + "\n"
    record = GOLDEN / f"{scenario.__name__}.log"
    if os.environ.get("KEDGE_GOLDEN") == "update":
        record.write_text(told)
    assert told == record.read_text()
