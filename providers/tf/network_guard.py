"""The guard of a run on a network: making creates, access changes rules of the firewall, removing deletes its own.

Pure: it reads the saved plan's JSON and the run. What may change in place is named here, cloud by cloud, because each
says in its own way whom its firewall lets in.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from providers.errors import Offence, UnsafeChange
from providers.networks import NetworkRun, NetworkRunKind
from providers.tf.plan import Action, PlannedChange, planned_changes

CLIENT_RULES = frozenset(
    {
        "aws_vpc_security_group_ingress_rule.clients",
        "azurerm_network_security_rule.clients",
        "azurerm_network_security_rule.listeners",
        "google_compute_firewall.clients",
        "google_compute_firewall.listeners",
    }
)
"""Rules of their own: made, changed and deleted with the clients they name."""

PEER_RULES: Mapping[str, frozenset[str]] = {
    "azurerm_network_security_rule.peers": frozenset(
        {"source_address_prefixes", "destination_port_range", "destination_port_ranges"}
    ),
    "google_compute_firewall.peers": frozenset({"source_ranges", "allow"}),
    "azurerm_network_security_rule.servers": frozenset(
        {"source_address_prefixes", "destination_port_range", "destination_port_ranges"}
    ),
    "google_compute_firewall.servers": frozenset({"source_ranges", "allow"}),
    "azurerm_network_security_rule.overlay": frozenset(
        {"source_address_prefixes", "destination_port_range", "destination_port_ranges"}
    ),
    "google_compute_firewall.overlay": frozenset({"source_ranges", "allow"}),
}
"""Rules for members in other places, for servers of Kedge, and for tunnels: made and deleted, and updated in these
only."""

FIREWALLS: Mapping[str, frozenset[str]] = {
    "digitalocean_firewall.kafka": frozenset({"inbound_rule", "pending_changes", "status"}),
    "hcloud_firewall.kafka": frozenset({"rule"}),
}
"""Firewalls with their rules in them: updated in place, and in these attributes only."""

MEMBER_RULES: Mapping[str, frozenset[str]] = {
    "azurerm_network_security_rule.members": frozenset({"source_address_prefixes", "destination_address_prefixes"}),
    "azurerm_network_security_rule.clients": frozenset({"destination_address_prefixes"}),
    "azurerm_network_security_rule.listeners": frozenset({"destination_address_prefixes"}),
    "azurerm_network_security_rule.peers": frozenset({"destination_address_prefixes"}),
    "azurerm_network_security_rule.servers": frozenset({"destination_address_prefixes"}),
    "azurerm_network_security_rule.overlay": frozenset({"source_address_prefixes", "destination_address_prefixes"}),
}
"""Where members are told by their subnets, a zone more changes these."""

PORT_RULES: Mapping[str, frozenset[str]] = {
    "azurerm_network_security_rule.members": frozenset({"destination_port_range", "destination_port_ranges"}),
    "google_compute_firewall.members": frozenset({"allow"}),
}
"""Where all ports of members are in one rule, another port changes these."""

_RULE_OF_A_PORT = frozenset(
    {
        "aws_vpc_security_group_ingress_rule.members",
        "aws_vpc_security_group_ingress_rule.peers",
        "aws_vpc_security_group_ingress_rule.servers",
        "aws_vpc_security_group_ingress_rule.overlay",
    }
)
"""A rule for each port, and each peer or server, or who else calls there: made and deleted with it."""

_ROOT = "module.kedge."


def check_network(plan: Mapping[str, Any], run: NetworkRun, own: frozenset[str], asked: frozenset[str]) -> None:
    """Raises `UnsafeChange` naming each offending resource; returns when the plan may be applied.

    `own` are the resources of the module (`aws_vpc.network`), `asked` the addresses that are to be imported.
    """
    offences = []
    raw = {c["address"]: c for c in plan.get("resource_changes", []) if c.get("mode") == "managed"}
    changes = planned_changes(plan)
    for change in changes:
        reason = _refusal(change, raw[change.address], run, own, asked)
        if reason is not None:
            offences.append(Offence(change.address, reason))
    for address in sorted(asked - {c.address for c in changes if c.imported}):
        offences.append(Offence(address, "it is to be imported, and the plan does not import it"))
    if offences:
        raise UnsafeChange(f"{run.kind} run {run.intent_id} of network {run.place.network} in {run.place}", offences)


def _refusal(
    change: PlannedChange, raw: Mapping[str, Any], run: NetworkRun, own: frozenset[str], asked: frozenset[str]
) -> str | None:
    name = f"{raw['type']}.{raw['name']}"
    if not change.address.startswith(_ROOT) or name not in own:
        return "it is not a part of a network; this state is to hold nothing else"
    if change.imported and change.address not in asked:
        return "the plan would import it, and nobody asked for that"
    if change.action in (Action.NOOP, Action.READ):
        if run.kind is NetworkRunKind.REMOVE and change.action is Action.NOOP:
            return "the network is to be removed, and the plan would leave it"
        return None
    if change.action is Action.REPLACE:
        return "the plan would replace it; VMs are in this network, nothing of it is replaced"
    return next(_ALLOWED[run.kind](change, name, raw), None)


def _making(change: PlannedChange, name: str, raw: Mapping[str, Any]) -> Iterator[str]:
    if change.imported:
        # Found half made: what its rules say may be what the vendor's defaults left, and is put right.
        if change.action is not Action.UPDATE or name not in _RULES:
            yield f"its import would {change.action} it; an import changes nothing"
    elif change.action is not Action.CREATE:
        yield f"the plan would {change.action} it; making a network creates, and changes nothing that is there"


def _growing(change: PlannedChange, name: str, raw: Mapping[str, Any]) -> Iterator[str]:
    if change.action is Action.UPDATE and name in MEMBER_RULES:
        yield from _elsewhere(raw, MEMBER_RULES[name])
    else:
        yield from _making(change, name, raw)


def _changing_access(change: PlannedChange, name: str, raw: Mapping[str, Any]) -> Iterator[str]:
    if name in CLIENT_RULES and change.action in (Action.CREATE, Action.UPDATE, Action.DELETE):
        return
    if (name in _RULE_OF_A_PORT or name in PEER_RULES) and change.action in (Action.CREATE, Action.DELETE):
        return
    if change.imported and name in _RULES and change.action is Action.UPDATE:
        return  # made by a run that was killed: see `_making`
    if name in _ACCESS and change.action is Action.UPDATE:
        yield from _elsewhere(raw, _ACCESS[name])
    else:
        yield f"the plan would {change.action} it; a change of access touches rules of who is let in alone"


def _removing(change: PlannedChange, name: str, raw: Mapping[str, Any]) -> Iterator[str]:
    if change.action is not Action.DELETE:
        yield f"the plan would {change.action} it; removing a network only deletes"


def _elsewhere(raw: Mapping[str, Any], attributes: frozenset[str]) -> Iterator[str]:
    before, after = raw["change"].get("before") or {}, raw["change"].get("after") or {}
    unknown = raw["change"].get("after_unknown") or {}
    moved = {k for k in before.keys() | after.keys() if before.get(k) != after.get(k) and unknown.get(k) is not True}
    if others := sorted(moved - attributes):
        yield f"the plan would change its {', '.join(others)}; only {', '.join(sorted(attributes))} may change in place"


_ALLOWED = {
    NetworkRunKind.MAKE: _making,
    NetworkRunKind.GROW: _growing,
    NetworkRunKind.ACCESS: _changing_access,
    NetworkRunKind.REMOVE: _removing,
}

_ACCESS = {**FIREWALLS, **PORT_RULES, **PEER_RULES}

_RULES = (
    CLIENT_RULES
    | FIREWALLS.keys()
    | MEMBER_RULES.keys()
    | PEER_RULES.keys()
    | PORT_RULES.keys()
    | _RULE_OF_A_PORT
    | {"aws_vpc_security_group_egress_rule.out", "aws_vpc_security_group_egress_rule.out_ipv6"}
)
