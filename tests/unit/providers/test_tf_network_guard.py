"""The guard of runs on networks, with plans as each cloud's module makes them."""

from typing import Any

import pytest

from providers.base import Place
from providers.errors import UnsafeChange
from providers.networks import NetworkRun, NetworkRunKind
from providers.tf.networkguard import check_network
from providers.tf.networkrun import module_resources
from tests.standins.mirror import MODULES

MAKE, GROW, ACCESS, REMOVE = (
    NetworkRunKind.MAKE,
    NetworkRunKind.GROW,
    NetworkRunKind.ACCESS,
    NetworkRunKind.REMOVE,
)

NETWORKS = {
    "aws": "aws_vpc.network",
    "azure": "azurerm_virtual_network.network",
    "digitalocean": "digitalocean_vpc.network",
    "google": "google_compute_network.network",
    "hetzner": "hcloud_network.own",
    "upcloud": "upcloud_network.network",
}
"""What a network is, cloud by cloud."""

CLIENTS = {
    "aws": ("aws_vpc_security_group_ingress_rule.clients", ["create"], None),
    "azure": ("azurerm_network_security_rule.clients", ["update"], "source_address_prefixes"),
    "digitalocean": ("digitalocean_firewall.kafka", ["update"], "inbound_rule"),
    "google": ("google_compute_firewall.clients", ["update"], "source_ranges"),
    "hetzner": ("hcloud_firewall.kafka", ["update"], "rule"),
}
"""How a change of clients looks there; UpCloud filters nothing."""


def change(resource: str, actions: list[str], moved: str | None = None, **more: Any) -> dict[str, Any]:
    kind, _, name = resource.partition(".")
    before, after = ({moved: ["a"]}, {moved: ["b"]}) if moved else (None, {})
    address = f"module.kedge.{resource}"
    told: dict[str, Any] = {"actions": actions, "before": before, "after": after, **more}
    return {"address": address, "mode": "managed", "type": kind, "name": name, "change": told}


def judged(cloud: str, kind: NetworkRunKind, *changes: dict[str, Any], asked: frozenset[str] = frozenset()) -> None:
    run = NetworkRun("n.0", kind, "network-1-default", Place(cloud, "r1", "main"), "test", "10.64.0.0/20")
    own = module_resources(MODULES / f"{cloud}-network")
    check_network({"resource_changes": list(changes)}, run, own, asked)


@pytest.mark.parametrize("cloud", NETWORKS)
def test_making_creates_and_changes_nothing_that_is_there(cloud: str) -> None:
    judged(cloud, MAKE, change(NETWORKS[cloud], ["create"]))
    judged(cloud, MAKE, change(NETWORKS[cloud], ["no-op"]))
    for actions in (["update"], ["delete"]):
        with pytest.raises(UnsafeChange, match="changes nothing that is there"):
            judged(cloud, MAKE, change(NETWORKS[cloud], actions, "name"))


@pytest.mark.parametrize("cloud", NETWORKS)
@pytest.mark.parametrize("kind", list(NetworkRunKind))
def test_a_network_is_never_replaced(cloud: str, kind: NetworkRunKind) -> None:
    with pytest.raises(UnsafeChange, match="nothing of it is replaced"):
        judged(cloud, kind, change(NETWORKS[cloud], ["delete", "create"]))


@pytest.mark.parametrize("cloud", CLIENTS)
def test_a_change_of_clients_touches_their_rules(cloud: str) -> None:
    judged(cloud, ACCESS, change(*CLIENTS[cloud]))


PORTS = {
    "aws": ("aws_vpc_security_group_ingress_rule.members", ["create"], None),
    "azure": ("azurerm_network_security_rule.members", ["update"], "destination_port_ranges"),
    "digitalocean": ("digitalocean_firewall.kafka", ["update"], "inbound_rule"),
    "google": ("google_compute_firewall.members", ["update"], "allow"),
    "hetzner": ("hcloud_firewall.kafka", ["update"], "rule"),
}
"""How another port looks there."""


@pytest.mark.parametrize("cloud", PORTS)
def test_another_port_touches_the_rules_of_members(cloud: str) -> None:
    judged(cloud, ACCESS, change(*PORTS[cloud]))


PEERS = {
    "aws": ("aws_vpc_security_group_ingress_rule.peers", ["create"], None),
    "azure": ("azurerm_network_security_rule.peers", ["update"], "source_address_prefixes"),
    "digitalocean": ("digitalocean_firewall.kafka", ["update"], "inbound_rule"),
    "google": ("google_compute_firewall.peers", ["update"], "source_ranges"),
}
"""How members in another place look there."""


@pytest.mark.parametrize("who", ["peers", "servers"])
@pytest.mark.parametrize("cloud", PEERS)
def test_members_in_another_place_and_servers_touch_rules_of_theirs(cloud: str, who: str) -> None:
    resource, actions, attribute = PEERS[cloud]
    resource = resource.replace(".peers", f".{who}")
    judged(cloud, ACCESS, change(resource, actions, attribute))
    if cloud != "digitalocean":
        for actions in (["create"], ["delete"]):
            judged(cloud, ACCESS, change(resource, actions))
    for attribute in ("direction", "security_group_id", "target_tags", "access", "priority", "tags"):
        with pytest.raises(UnsafeChange, match=r"would (change its|update it)"):
            judged(cloud, ACCESS, change(resource, ["update"], attribute))
    with pytest.raises(UnsafeChange, match="changes nothing that is there"):
        judged(cloud, MAKE, change(resource, ["update"], "name"))


def test_a_rule_of_members_keeps_whom_it_is_for() -> None:
    with pytest.raises(UnsafeChange, match="would change its source_address_prefixes"):
        judged("azure", ACCESS, change("azurerm_network_security_rule.members", ["update"], "source_address_prefixes"))
    with pytest.raises(UnsafeChange, match="would change its source_tags"):
        judged("google", ACCESS, change("google_compute_firewall.members", ["update"], "source_tags"))
    with pytest.raises(UnsafeChange, match="would update it"):
        judged("aws", ACCESS, change("aws_vpc_security_group_ingress_rule.members", ["update"], "cidr_ipv4"))


@pytest.mark.parametrize("cloud", NETWORKS)
def test_a_change_of_clients_touches_nothing_else(cloud: str) -> None:
    for actions in (["create"], ["update"], ["delete"]):
        with pytest.raises(UnsafeChange, match="a change of access touches"):
            judged(cloud, ACCESS, change(NETWORKS[cloud], actions, "name"))


@pytest.mark.parametrize(
    ("cloud", "resource"), [("hetzner", "hcloud_firewall.kafka"), ("digitalocean", "digitalocean_firewall.kafka")]
)
def test_a_firewall_keeps_whom_it_is_for(cloud: str, resource: str) -> None:
    with pytest.raises(UnsafeChange, match="would change its apply_to"):
        judged(cloud, ACCESS, change(resource, ["update"], "apply_to"))
    with pytest.raises(UnsafeChange, match="a change of access touches"):
        judged(cloud, ACCESS, change(resource, ["delete"]))


def test_a_zone_more_may_tell_members_of_it_and_nobody_else() -> None:
    rule = "azurerm_network_security_rule"
    judged("azure", GROW, change(f"{rule}.members", ["update"], "source_address_prefixes"))
    judged("azure", GROW, change(f"{rule}.clients", ["update"], "destination_address_prefixes"))
    for elsewhere in ("peers", "servers"):
        judged("azure", GROW, change(f"{rule}.{elsewhere}", ["update"], "destination_address_prefixes"))
    with pytest.raises(UnsafeChange, match="would change its source_address_prefixes"):
        judged("azure", GROW, change(f"{rule}.peers", ["update"], "source_address_prefixes"))
    with pytest.raises(UnsafeChange, match="would change its source_address_prefixes"):
        judged("azure", GROW, change(f"{rule}.clients", ["update"], "source_address_prefixes"))
    with pytest.raises(UnsafeChange, match="would change its access"):
        judged("azure", GROW, change(f"{rule}.members", ["update"], "access"))
    with pytest.raises(UnsafeChange, match="changes nothing that is there"):
        judged("azure", MAKE, change(f"{rule}.members", ["update"], "source_address_prefixes"))


@pytest.mark.parametrize("cloud", NETWORKS)
def test_removing_deletes_all_and_only_what_is_the_networks(cloud: str) -> None:
    judged(cloud, REMOVE, change(NETWORKS[cloud], ["delete"]))
    with pytest.raises(UnsafeChange, match="would leave it"):
        judged(cloud, REMOVE, change(NETWORKS[cloud], ["no-op"]))
    with pytest.raises(UnsafeChange, match="only deletes"):
        judged(cloud, REMOVE, change(NETWORKS[cloud], ["create"]))
    with pytest.raises(UnsafeChange, match="no part of a network"):
        judged(cloud, REMOVE, change("aws_instance.instance", ["delete"]))


def test_an_import_is_what_was_asked_for_and_changes_nothing() -> None:
    imported = change("aws_vpc.network", ["no-op"], importing={"id": "vpc-1"})
    judged("aws", MAKE, imported, asked=frozenset({"module.kedge.aws_vpc.network"}))
    with pytest.raises(UnsafeChange, match="nobody asked for that"):
        judged("aws", MAKE, imported)
    with pytest.raises(UnsafeChange, match="does not import it"):
        judged("aws", MAKE, asked=frozenset({"module.kedge.aws_vpc.network"}))
    other = change("aws_vpc.network", ["update"], "cidr_block", importing={"id": "vpc-1"})
    with pytest.raises(UnsafeChange, match="an import changes nothing"):
        judged("aws", MAKE, other, asked=frozenset({"module.kedge.aws_vpc.network"}))
