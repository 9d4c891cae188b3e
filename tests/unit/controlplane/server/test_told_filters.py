"""What VMs are told to let in where no cloud filters private traffic: as their network is now, or nothing."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from controlplane.cluster.view import ClusterView
from controlplane.server.clouds import packet_filter_in
from providers.base import CloudProvider, Place
from providers.registry import load
from tests.builders import a_view, an_instance

PLACES = {
    "hetzner": Place("hetzner", "eu-central", "main"),
    "upcloud": Place("upcloud", "fi-hel1", "main"),
    "aws": Place("aws", "eu-west-1", "main"),
}
ACCOUNTS: dict[str, dict[str, Any]] = {
    "hetzner": {"regions": {"eu-central": {"images": {}}}},
    "upcloud": {"username": "kedge", "regions": {"fi-hel1": {"images": {}}}},
    "aws": {"id": "123456789012", "regions": {"eu-west-1": {"images": {}}}},
}
MADE: dict[str, dict[str, Any]] = {
    "hetzner": {
        "network": 1,
        "subnets": {"fsn1": "10.64.0.0/25"},
        "node_network": 2,
        "member_range": "10.64.8.0/22",
        "node_range": "10.64.12.0/22",
    },
    "upcloud": {
        "network": "03000000-0000-4000-8000-000000000001",
        "network_range": "10.64.0.0/20",
        "node_addresses": "10.64.8.0/21",
        "zones": ["fi-hel1-a"],
    },
}
CLIENT = "192.168.8.0/24"


class Told:
    """One server's clouds, and what it knows of networks it made."""

    def __init__(self, cloud: str, home: Path) -> None:
        self.made: Mapping[str, Any] | None = None
        self.others: dict[Place, str] = {}
        """Networks Kedge made elsewhere."""
        file = home / f"{cloud}.yaml"
        file.write_text(yaml.safe_dump({"accounts": {"main": ACCOUNTS[cloud]}}))
        provider = load(cloud, installation_id="test", settings_file=file, networks=lambda place: self.made)
        self.provider: CloudProvider = provider
        self.vm = replace(an_instance("brokers-a-0"), place=PLACES[cloud])
        self.view: ClusterView = a_view(self.vm)
        self.declared: tuple[str, ...] = ()

    def rules(self) -> str:
        return packet_filter_in(
            lambda cloud: self.provider, lambda place: self.others.get(place, ""), self.view, self.vm, self.declared
        )


@pytest.mark.parametrize("cloud", ["hetzner", "upcloud"])
def test_rules_follow_the_network_and_are_none_before_there_is_one(cloud: str, tmp_path: Path) -> None:
    told = Told(cloud, tmp_path)
    assert told.rules() == "", "its network is not made yet"
    told.made = MADE[cloud]
    closed = told.rules()
    assert "ip saddr { 10.64." in closed
    assert CLIENT not in closed
    told.made = {**MADE[cloud], "clients": [CLIENT], "broker_ports": [9092, 9192]}
    assert f"tcp dport {{ 9092, 9192 }} ip saddr {{ {CLIENT} }} accept" in told.rules()


@pytest.mark.parametrize("cloud", ["hetzner", "upcloud"])
def test_members_in_another_place_of_the_cluster_are_members(cloud: str, tmp_path: Path) -> None:
    """While a pool moves, brokers and controllers here and there speak to one another."""
    told = Told(cloud, tmp_path)
    told.made = MADE[cloud]
    there, nobodys = PLACES["aws"], Place("aws", "us-east-1", "main")
    told.view = a_view(told.vm, replace(an_instance("brokers-b-0"), place=there))
    alone = told.rules()
    told.others = {there: "10.65.0.0/20", nobodys: "10.66.0.0/20"}
    assert "10.65.0.0/20" in told.rules()
    assert told.rules().replace(", 10.65.0.0/20", "") == alone


def test_a_network_of_upcloud_from_before_its_range_was_told_leaves_vms_as_they_are(tmp_path: Path) -> None:
    told = Told("upcloud", tmp_path)
    told.made = {name: value for name, value in MADE["upcloud"].items() if name != "network_range"}
    assert told.rules() == ""


def test_a_cloud_whose_firewall_sees_private_traffic_tells_vms_nothing(tmp_path: Path) -> None:
    assert Told("aws", tmp_path).rules() == ""


def test_a_vm_of_a_place_nobody_knows_any_more_keeps_what_it_has(tmp_path: Path) -> None:
    told = Told("hetzner", tmp_path)
    told.made = MADE["hetzner"]
    told.vm = replace(told.vm, place=Place("hetzner", "mars", "main"))
    assert told.rules() == ""


@pytest.mark.parametrize("cloud", ["hetzner", "upcloud"])
def test_servers_that_are_declared_are_let_in_where_nothing_is_on_record(cloud: str, tmp_path: Path) -> None:
    """In a network of somebody's own the settings say it; one that Kedge made has on record whom it lets in."""
    told = Told(cloud, tmp_path)
    told.made = MADE[cloud]
    told.declared = ("10.0.0.5",)
    assert "tcp dport 9092 ip saddr { 10.0.0.5/32 } accept" in told.rules()
    told.others[PLACES[cloud]] = "10.64.0.0/20"
    assert "10.0.0.5" not in told.rules()
    told.made = {**MADE[cloud], "servers": ["10.0.0.7/32"]}
    assert "tcp dport 9092 ip saddr { 10.0.0.7/32 } accept" in told.rules()
