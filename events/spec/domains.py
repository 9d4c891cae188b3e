"""Network domains: who reaches whom at a private address. An address belongs to one domain; a cluster is within one.

- on the local cloud: one for all of it, its addresses are loopback addresses of one machine;
- a place with a `route`: the route's; a person says that all networks that name it are connected (peering, VPN, ...);
- any other place: its network's own, in its account and region.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from events.spec.model import PlaceSpec

INTERNET = "internet"
"""The domain of public addresses, and the name of the route that would lead over them."""

_LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Address:
    """An address somebody could be told, and the domain in which it is reached."""

    text: str
    domain: str


def domain_of(place: PlaceSpec) -> str:
    """The domain of the private addresses of VMs made there."""
    if place.cloud == _LOCAL:
        return _LOCAL
    if place.route:
        return f"route {place.route}"
    return f"{place.name}, network {place.network}"


def advertised(addresses: Iterable[Address], home: str) -> str:
    """What a node tells others to reach it at: its first address that is of the cluster's domain, "" for none.

    No address of another domain will do: who is told one connects to nobody, or to a foreign server that has it there.
    """
    return next((a.text for a in addresses if a.text and a.domain == home), "")
