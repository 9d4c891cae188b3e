"""The overlay part of a VM's document: its addresses, its tunnels and its peers, as a pure function of the view.

| path | its tunnel reaches |
|---|---|
| `private` | who is in the same network domain, at the address its cloud gave it there |
| `public` | who has a public address, by IPv4 or, where both have it, IPv6; who has none calls those that have one |

Where a VM is called is what its cloud told of it, and never what a peer saw. Two that share no path are peers without
one: that is to be told, and nothing reaches from one to the other.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv6Address

from agent.host_port import HostPort
from agent.overlay.addresses import Kind, prefix_of, service_address, vm_address
from agent.wire import OverlayDocument, OverlayLink, OverlayPeer
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.overlay_addresses import called_at
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.members import services_on
from controlplane.runtime.once import once
from events.spec.domains import domain_of

EPOCH = 1
"""Of keys: the first and, as nothing replaces them yet, the only one."""
PRIVATE, PUBLIC = "private", "public"

_IS_OUT = frozenset({Phase.REQUESTED, Phase.RELEASED, Phase.RETIRING, Phase.RETIRED})
"""Not made yet, or stopped for good: who goes is out of all documents before its VM does, and before another VM gets
what it had."""
_KINDS: Mapping[str, Kind] = {"broker": "broker", "controller": "controller", "zookeeper": "zookeeper"}


@dataclass(frozen=True, slots=True)
class OverlayNetwork:
    """What a cluster's overlay is beside its VMs. `port`: the first of four (UDP), two for each of two epochs."""

    port: int = 51_820
    epoch: int = EPOCH


def overlay_part(view: ClusterView, instance: InstanceView, network: OverlayNetwork) -> OverlayDocument:
    """What that VM is told. Peers are those whose key of the epoch is recorded; of one that is revoked it is not told
    any more."""
    prefix, held = prefix_of(view.uid), _held(view)
    links = _links(network)
    return OverlayDocument(
        prefix=prefix,
        epoch=network.epoch,
        vm=vm_address(prefix, instance.node, instance.planned.generation),
        services=held.get(instance.key, ()),
        links=tuple(links.values()),
        peers=tuple(
            OverlayPeer(
                node=peer.node,
                generation=peer.planned.generation,
                public_key=public_key,
                vm=vm_address(prefix, peer.node, peer.planned.generation),
                services=held.get(peer.key, ()),
                paths=_paths(view, instance, peer, links),
            )
            for peer, public_key in _peers(view, instance, network)
        ),
    )


def address_holders(view: ClusterView) -> Mapping[IPv6Address, str]:
    """Address of a service -> key of the VM it is on. Where two VMs could have it the older one does until it has
    given away what it has: it may still run, and two of one address are two halves of one."""
    prefix = prefix_of(view.uid)
    found: dict[IPv6Address, str] = {}
    for instance in sorted(view.alive(), key=lambda i: (i.planned.generation, i.key)):
        if instance.phase in _IS_OUT or not instance.bound:
            continue
        for service in services_on(instance):
            kind = _KINDS[service.planned.service]
            found.setdefault(service_address(prefix, kind, service.service_id), instance.key)
    return found


@once
def _held(view: ClusterView) -> Mapping[str, tuple[IPv6Address, ...]]:
    """By key of a VM, the addresses of its services."""
    found: dict[str, list[IPv6Address]] = {}
    for address, key in sorted(address_holders(view).items()):
        found.setdefault(key, []).append(address)
    return {key: tuple(addresses) for key, addresses in found.items()}


def _links(network: OverlayNetwork) -> Mapping[str, OverlayLink]:
    """Those of an epoch and of the next one are beside each other: keys are replaced by a second pair of tunnels."""
    is_second = network.epoch % 2 == 0
    mark, port = ("2", network.port + 2) if is_second else ("", network.port)
    return {
        PRIVATE: OverlayLink(name=f"kedge-private{mark}", path=PRIVATE, port=port),
        PUBLIC: OverlayLink(name=f"kedge-public{mark}", path=PUBLIC, port=port + 1),
    }


def _peers(view: ClusterView, instance: InstanceView, network: OverlayNetwork) -> Iterator[tuple[InstanceView, str]]:
    for peer in sorted(view.alive(), key=lambda i: i.key):
        if peer.key == instance.key or peer.phase in _IS_OUT or peer.key in view.vms.revoked:
            continue
        if public_key := view.vms.overlay_keys.get(peer.key, {}).get(network.epoch, ""):
            yield peer, public_key


def _paths(
    view: ClusterView,
    instance: InstanceView,
    peer: InstanceView,
    links: Mapping[str, OverlayLink],
) -> dict[str, str | None]:
    paths: dict[str, str | None] = {}
    if peer.address and _are_in_one_network(view, instance, peer):
        paths[PRIVATE] = str(HostPort(peer.address, links[PRIVATE].port))
    there = called_at(peer, instance)
    if there or called_at(instance, peer):
        paths[PUBLIC] = str(HostPort(there, links[PUBLIC].port)) if there else None
    return paths


def _are_in_one_network(view: ClusterView, one: InstanceView, other: InstanceView) -> bool:
    """By the spec. Of a VM whose pool is gone from it, only that it is in the very network the other one is in."""
    domains = _domains(view)
    here, there = domains.get(one.planned.pool), domains.get(other.planned.pool)
    if here is not None and there is not None:
        return here == there
    return one.place is not None and one.place == other.place


@once
def _domains(view: ClusterView) -> Mapping[str, str]:
    spec = view.working_spec()
    return {pool.name: domain_of(pool.place) for pool in spec.spec.pools} if spec is not None else {}
