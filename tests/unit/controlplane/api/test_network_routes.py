"""/v1/networks and what a plan says of networks; who may ask for what."""

from dataclasses import replace

import pytest

from controlplane.api.access.bindings import Binding
from controlplane.api.access.rights import Forbidden, rights_of
from controlplane.api.access.roles import Role
from controlplane.api.scoped.services import scoped
from controlplane.fleet.networks.commands import NetworkService
from controlplane.portal.app import create_app
from providers.errors import NotPermitted
from tests.sim.networkworld import NetworkWorld
from tests.unit.controlplane.api.portal_house import House


@pytest.fixture
def world() -> NetworkWorld:
    world = NetworkWorld()
    world.declare("orders", clients=("192.168.8.0/24",))
    world.settle(12)
    return world


@pytest.fixture
def house(world: NetworkWorld) -> House:
    house = House()
    service: NetworkService = world.service
    house.services = replace(house.services, fleet=replace(house.services.fleet, networks=service))
    house.app = create_app(house.services)
    house.client = house.client_with(dict(house.client.headers))
    return house


def test_networks_are_listed_with_their_clusters_and_the_room_left(house: House) -> None:
    told = house.client.get("/v1/networks").json()
    (network,) = told["items"]
    assert (network["name"], network["state"], network["cidr"]) == ("default", "made", "10.64.0.0/20")
    assert (network["clusters"], network["clients"]) == (["orders"], ["192.168.8.0/24"])
    assert (network["broker_ports"], network["member_ports"]) == ([9092], [9093])
    assert (told["pool"], told["free"]) == ("10.64.0.0/16", 15)


def test_a_removal_needs_the_name_and_no_living_cluster(house: House, world: NetworkWorld) -> None:
    path = "/v1/networks/default/remove"
    typo = house.client.post(path, json={"confirm": "defautl"})
    assert (typo.status_code, typo.json()["code"]) == (409, "not-confirmed")
    used = house.client.post(path, json={"confirm": "default"})
    assert (used.status_code, used.json()["code"]) == (409, "network-in-use")
    assert "orders" in used.json()["detail"]
    world.delete("orders")
    done = house.client.post(path, json={"confirm": "default"}, headers={"Idempotency-Key": "k"})
    assert done.status_code == 200, done.text
    again = house.client.post(path, json={"confirm": "default"}, headers={"Idempotency-Key": "k"})
    assert again.json()["sentence"] == "asked for already"
    world.settle(10)
    assert house.client.get("/v1/networks").json()["items"] == []


def test_a_removal_that_failed_is_tried_at_once_by_asking_again_and_no_repair_stops_it(
    house: House, world: NetworkWorld
) -> None:
    world.delete("orders")
    world.refuse_removals = NotPermitted("no", "ec2:DeleteVpc")
    house.client.post("/v1/networks/default/remove", json={"confirm": "default"})
    again = house.client.post("/v1/networks/default/remove", json={"confirm": "default"}).json()
    assert again["sentence"].endswith("is being removed already")
    world.settle(6)
    repaired = house.client.post("/v1/networks/default/repair", json={})
    assert (repaired.status_code, repaired.json()["code"]) == (409, "network-removing")
    assert "kedge networks remove default --account main --region r1" in repaired.text
    world.refuse_removals = None
    again = house.client.post("/v1/networks/default/remove", json={"confirm": "default"}).json()
    assert again["sentence"].endswith("what failed is tried again now")
    world.settle(6)
    assert house.client.get("/v1/networks").json()["items"] == []


def test_a_network_nobody_made_names_those_there_are(house: House) -> None:
    answer = house.client.post("/v1/networks/second/repair", json={})
    assert answer.json()["code"] == "network-not-found"
    assert "default in aws/main/r1" in answer.json()["detail"]


def test_one_name_in_two_accounts_has_to_be_told_apart(house: House, world: NetworkWorld) -> None:
    world.declare("events", account="other")
    world.settle(10)
    answer = house.client.post("/v1/networks/default/repair", json={})
    assert answer.json()["code"] == "network-ambiguous"
    assert house.client.post("/v1/networks/default/repair", json={"account": "other"}).status_code == 200


def test_who_administers_nothing_changes_no_network_and_sees_no_others(house: House) -> None:
    mine = scoped(house.services, rights_of("user:eve", [Binding("user:eve", Role.OPERATOR, "*")])).fleet.networks
    order = {"account": "", "region": "", "reason": "", "actor": "user:eve", "command_id": "c9"}
    with pytest.raises(Forbidden, match="administer networks"):
        mine.remove("default", confirm="default", **order)
    with pytest.raises(Forbidden, match="administer networks"):
        mine.repair("default", **order)
    assert mine.statuses() == (), "orders is not a cluster of that house"
