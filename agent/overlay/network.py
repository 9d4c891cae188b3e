"""What an agent is told of its overlay: its own addresses, its tunnels, and the other VMs of the cluster."""

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv6Address, IPv6Network

from agent.host_port import HostPort

SMALLEST_MTU = 1280
"""Every path of IPv6 takes so much (RFC 8200, 5), and so a tunnel over any path of IPv4 does: nothing is born into a
black hole."""


@dataclass(frozen=True, slots=True)
class Link:
    """One tunnel interface: WireGuard has one path to a peer at a time, so that each kind of path gets its own.
    `port`: UDP, on all addresses of the VM."""

    name: str
    path: str
    port: int


@dataclass(frozen=True, slots=True)
class Peer:
    """Another VM. `paths`: by their names those there are, and where the peer is called; None for a peer behind NAT,
    which calls."""

    node: str
    public_key: str
    vm: IPv6Address
    services: tuple[IPv6Address, ...]
    paths: Mapping[str, HostPort | None]

    @property
    def addresses(self) -> tuple[IPv6Address, ...]:
        """All that is its: nobody else may send from there."""
        return (self.vm, *self.services)


@dataclass(frozen=True, slots=True)
class Overlay:
    """The network as one VM of it is to have it. `links`: the preferred path first."""

    prefix: IPv6Network
    vm: IPv6Address
    services: tuple[IPv6Address, ...]
    links: tuple[Link, ...]
    peers: tuple[Peer, ...]
    mtu: int = SMALLEST_MTU
    epoch: int = 1
    """Of this VM's key."""

    @property
    def order(self) -> tuple[str, ...]:
        """Names of paths, the preferred one first."""
        return tuple(link.path for link in self.links)

    def link_of(self, path: str) -> Link:
        """Raises KeyError for a path without a tunnel."""
        for link in self.links:
            if link.path == path:
                return link
        raise KeyError(path)
