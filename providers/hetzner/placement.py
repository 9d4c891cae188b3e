"""Which placement group a new VM goes into, and which address a node gets. Pure: both look at what stands already."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Network

from providers.base import InstanceResource, Resources
from providers.errors import QuotaExceeded
from providers.hetzner.inventory import PlaceLimits

GROUP_HOLDS = 10
"""VMs of one spread group (docs.hetzner.com, Placement Groups)."""

_RESERVED = 2
"""Addresses at the beginning of a subnet that may be its gateway's."""


def groups_for(resources: Resources, groups: Sequence[int], limits: PlaceLimits) -> dict[str, int]:
    """Group by instance key; empty where the settings name none.

    A spread group keeps its own members on different hosts and says nothing of two groups. So a cluster fills as few
    as it can, and its VMs are dealt out zones in turn: each group mixes all racks. When all are full one is named all
    the same: Hetzner refuses the VM then, while a run that makes none goes on.
    """
    if not groups:
        return {}
    uid = resources.cluster_uid
    groups_here = {key: group for (owner, key), group in limits.groups.items() if owner == uid}
    chosen = {i.key: groups_here[i.key] for i in resources.instances if i.key in groups_here}
    members, ours = Counter(limits.groups.values()), Counter(groups_here.values())
    members.update(limits.foreign_vms)
    for instance in _dealt(i for i in resources.instances if i.key not in chosen):
        free = [g for g in groups if members[g] < GROUP_HOLDS] or groups
        group = max(free, key=lambda g: (ours[g], -members[g], -groups.index(g)))
        chosen[instance.key] = group
        members[group] += 1
        ours[group] += 1
    return chosen


def is_placed_anew(resources: Resources, groups: Sequence[int], limits: PlaceLimits) -> bool:
    """Whether a VM is to get a group, or a node an address, that it has not yet."""
    uid = resources.cluster_uid
    grouped = bool(groups) and any((uid, i.key) not in limits.groups for i in resources.instances)
    return grouped or any(not a.address and (uid, a.node) not in limits.addresses for a in resources.addresses)


def addresses_for(resources: Resources, node_range: str, limits: PlaceLimits) -> dict[str, str]:
    """Address by node: the one it has, else the first free one behind a place its cluster and name stand for.

    Two clusters that ask at the same time begin at different places. Where they meet all the same, Hetzner refuses the
    second (`ip_not_available`). Raises `QuotaExceeded` when none is left.
    """
    network = IPv4Network(node_range)
    first, count = int(network.network_address) + _RESERVED, network.num_addresses - _RESERVED - 1
    chosen: dict[str, str] = {}
    for wanted in sorted(resources.addresses, key=lambda a: a.node):
        own = wanted.address or limits.addresses.get((resources.cluster_uid, wanted.node))
        if own is None:
            start = int.from_bytes(hashlib.sha256(f"{resources.cluster_uid}/{wanted.node}".encode()).digest()[:8])
            taken = limits.taken | set(chosen.values())
            tried = (str(network[0] + (first - int(network[0]) + (start + n) % count)) for n in range(count))
            own = next((address for address in tried if address not in taken), None)
        if own is None:
            raise QuotaExceeded(f"{resources.place}: no address of {node_range} is left for {wanted.node}")
        chosen[wanted.node] = own
    return chosen


def _dealt(instances: Iterable[InstanceResource]) -> list[InstanceResource]:
    """The first of each zone, then the second of each, and so on."""
    seen: Counter[str] = Counter()
    turns = []
    for instance in sorted(instances, key=lambda i: (i.node, i.generation)):
        turns.append((seen[instance.zone], instance.zone, instance.key, instance))
        seen[instance.zone] += 1
    return [instance for *_, instance in sorted(turns, key=lambda t: t[:3])]
