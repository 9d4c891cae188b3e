"""Where VMs of an overlay are called from the internet, by what their clouds tell. Pure.

A change is recorded, because a document has to be the same after a restart of the server: an inventory that was not
read yet must take no path away.
"""

from collections.abc import Iterator, Mapping
from ipaddress import IPv6Network, ip_address

from controlplane.cluster.places import place_of
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from events import facts
from providers.base import CloudInstance
from providers.state import InstanceState


def seen_addresses(view: ClusterView, told: Mapping[str, CloudInstance]) -> tuple[facts.PublicAddressesSeen, ...]:
    """What is to be recorded of VMs that run, `told` by instance key. Of one that does not run now nothing is known."""
    found = []
    for instance in sorted(view.alive(), key=lambda i: i.key):
        seen = told.get(instance.key)
        if seen is None or seen.state is not InstanceState.RUNNING or not _is_it(instance, seen):
            continue
        addresses = tuple(_public(seen, place_of(view, instance).cloud))
        if addresses != instance.public.addresses:
            found.append(facts.PublicAddressesSeen(instance.key, addresses))
    return tuple(found)


def called_at(peer: InstanceView, caller: InstanceView) -> str:
    """The address of the internet at which a caller reaches that peer, "" where it has none for it: one of IPv4 first,
    as whoever has a way out reaches it; one of IPv6 for who has one as well."""
    has_ipv6 = any(ip_address(one).version == 6 for one in caller.public.addresses)
    usable = (one for one in peer.public.addresses if has_ipv6 or ip_address(one).version == 4)
    return next(usable, "")


def _is_it(instance: InstanceView, seen: CloudInstance) -> bool:
    """A twin of its key is another VM, and called at its own address."""
    return not instance.cloud_id or instance.cloud_id == seen.id


def _public(seen: CloudInstance, cloud: str) -> Iterator[str]:
    if seen.public_address:
        yield seen.public_address
    if seen.ipv6 and cloud != "azure":  # whose IPv6 is private
        yield _first(seen.ipv6)


def _first(ipv6: str) -> str:
    """Of a network of its own a VM has the first address: at Hetzner it is told no other (`ipv6_address` of
    hcloud_server, hetznercloud/hcloud 1.68.0)."""
    return str(IPv6Network(ipv6)[1]) if "/" in ipv6 else str(ip_address(ipv6))
