"""The guard of runs on networks, with plans as each cloud's module makes them."""

from typing import Any

import pytest

from providers.base import Place
from providers.errors import UnsafeChange
from providers.networks import NetworkRun, NetworkRunKind
from providers.tf.network_guard import check_network
from providers.tf.network_run import module_resources
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


@pytest.mark.parametrize(
    ("cloud", "rule"), [("azure", "azurerm_network_security_rule"), ("google", "google_compute_firewall")]
)
def test_a_listener_with_clients_of_its_own_has_a_rule_that_comes_and_goes(cloud: str, rule: str) -> None:
    for action in ("create", "update", "delete"):
        judged(cloud, ACCESS, change(f"{rule}.listeners", [action]))
        judged(cloud, ACCESS, change(f"{rule}.clients", [action]))


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


@pytest.mark.parametrize("who", ["peers", "servers", "overlay"])
@pytest.mark.parametrize("cloud", PEERS)
def test_members_in_another_place_servers_and_tunnels_touch_rules_of_theirs(cloud: str, who: str) -> None:
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
    for elsewhere in ("peers", "servers", "listeners"):
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
    with pytest.raises(UnsafeChange, match="not a part of a network"):
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


RULES = {
    "aws": "aws_vpc_security_group_egress_rule.out",
    "azure": "azurerm_network_security_rule.members",
    "digitalocean": "digitalocean_firewall.kafka",
    "google": "google_compute_firewall.clients",
    "hetzner": "hcloud_firewall.kafka",
}
"""A rule that a run which was killed may have left as the vendor makes it."""


@pytest.mark.parametrize("kind", [MAKE, ACCESS])
@pytest.mark.parametrize("cloud", RULES)
def test_rules_that_are_found_half_made_are_put_right_as_they_are_imported(cloud: str, kind: NetworkRunKind) -> None:
    address = f"module.kedge.{RULES[cloud]}"
    found = change(RULES[cloud], ["update"], "description", importing={"id": "r-1"})
    judged(cloud, kind, found, asked=frozenset({address}))


def _rules_of_modules() -> list[tuple[str, str]]:
    """Each rule of a firewall that a module makes from what a run tells; who else is refused is the same always."""
    of_clouds = [(cloud, name) for cloud in NETWORKS for name in module_resources(MODULES / f"{cloud}-network")]
    rules = [(cloud, name) for cloud, name in of_clouds if "_rule." in name or "_firewall." in name]
    return sorted(rule for rule in rules if not rule[1].endswith(".nobody_else"))


@pytest.mark.parametrize("kind", [MAKE, ACCESS])
@pytest.mark.parametrize(("cloud", "rule"), _rules_of_modules())
def test_each_rule_of_a_module_may_be_found_half_made(cloud: str, rule: str, kind: NetworkRunKind) -> None:
    found = change(rule, ["update"], "description", importing={"id": "r-1"})
    judged(cloud, kind, found, asked=frozenset({f"module.kedge.{rule}"}))


@pytest.mark.parametrize("cloud", RULES)
def test_what_is_imported_is_neither_deleted_nor_made_anew_with_it(cloud: str) -> None:
    for actions in (["delete"], ["create"]):
        other = change(RULES[cloud], actions, "description", importing={"id": "r-1"})
        with pytest.raises(UnsafeChange, match=r"its import would (delete|create) it"):
            judged(cloud, MAKE, other, asked=frozenset({f"module.kedge.{RULES[cloud]}"}))
    gone = change("aws_vpc_security_group_egress_rule.out", ["delete"], "description", importing={"id": "r-1"})
    with pytest.raises(UnsafeChange, match="the plan would delete it"):
        judged("aws", ACCESS, gone, asked=frozenset({"module.kedge.aws_vpc_security_group_egress_rule.out"}))


def test_a_change_of_access_imports_no_network_that_it_would_change() -> None:
    found = change("aws_vpc.network", ["update"], "cidr_block", importing={"id": "vpc-1"})
    with pytest.raises(UnsafeChange, match="touches rules of who is let in alone"):
        judged("aws", ACCESS, found, asked=frozenset({"module.kedge.aws_vpc.network"}))


def test_a_zone_more_makes_what_is_new_and_deletes_no_rule() -> None:
    judged("azure", GROW, change("azurerm_subnet.zone", ["create"]))
    judged("azure", GROW, change("azurerm_network_security_rule.members", ["create"]))
    with pytest.raises(UnsafeChange, match="the plan would delete it"):
        judged("azure", GROW, change("azurerm_network_security_rule.members", ["delete"], "source_address_prefixes"))
    with pytest.raises(UnsafeChange, match="the plan would update it"):
        judged("azure", GROW, change("azurerm_virtual_network.network", ["update"], "tags"))


def updated(before: dict[str, object] | None, after: dict[str, object] | None, **more: object) -> dict[str, Any]:
    told = change("hcloud_firewall.kafka", ["update"], None, **more)
    told["change"] |= {"before": before, "after": after}
    return told


def test_an_attribute_that_comes_or_goes_is_a_change_like_any_other() -> None:
    with pytest.raises(UnsafeChange, match="would change its apply_to; only rule may change in place"):
        judged("hetzner", ACCESS, updated({"rule": 1}, {"rule": 2, "apply_to": "x"}))
    with pytest.raises(UnsafeChange, match="would change its apply_to"):
        judged("hetzner", ACCESS, updated({"rule": 1, "apply_to": "x"}, {"rule": 2}))
    with pytest.raises(UnsafeChange, match="would change its apply_to, labels"):
        judged("hetzner", ACCESS, updated(None, {"labels": "a", "apply_to": "x"}))
    with pytest.raises(UnsafeChange, match="would change its name"):
        judged("hetzner", ACCESS, updated({"name": "x"}, None))


def test_what_stays_as_it_is_and_what_the_cloud_works_out_are_no_change() -> None:
    judged("hetzner", ACCESS, updated({"rule": 1, "name": "x"}, {"rule": 2, "name": "x"}))
    working_it_out = {"id": True, "rule": False}
    judged("hetzner", ACCESS, updated({"rule": 1, "id": "7"}, {"rule": 2}, after_unknown=working_it_out))
    with pytest.raises(UnsafeChange, match="would change its name"):
        judged("hetzner", ACCESS, updated({"name": "x"}, {"name": "y"}, after_unknown={"name": False}))
