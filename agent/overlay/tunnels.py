"""What is to be done to have an overlay as it is wanted, by what is there: differences alone, never all anew. Pure.

`wg syncconf` leaves peers alone that stay as they are: 200 of its calls, each with another peer, lost no datagram of
the others, where `setconf` lost one in thirty. Addresses are on `lo`, so that they outlive the tunnels.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv6Address, IPv6Network

from agent.host_port import HostPort
from agent.overlay.network import Link, Overlay, Peer

KEEPALIVE_S = 25
"""So often a peer that can be called hears of us, while no agent probes: a NAT before us keeps its mapping."""
_CHOSEN, _LINK, _NOWHERE = 100, 1001, 5000
"""Metrics: the path to one peer; any peer by one tunnel, which probes go by; nothing else, and never in clear."""


@dataclass(frozen=True, slots=True)
class PeerSeen:
    """A peer of an interface, as `wg show` tells it."""

    endpoint: HostPort | None
    allowed: frozenset[str]
    keepalive_s: int = 0


@dataclass(frozen=True, slots=True)
class LinkSeen:
    """An interface as it is. `key`: its private key, "" for none."""

    is_up: bool
    mtu: int
    key: str = field(default="", repr=False)
    port: int = 0
    peers: Mapping[str, PeerSeen] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Route:
    """`link` is "" for a destination that is unreachable."""

    to: IPv6Network
    metric: int
    link: str = ""


@dataclass(frozen=True, slots=True)
class OverlaySeen:
    """What the kernel has of the overlay: `addresses` of `lo` and `routes` are those within its prefix."""

    links: Mapping[str, LinkSeen]
    addresses: frozenset[IPv6Address]
    routes: frozenset[Route]


@dataclass(frozen=True, slots=True)
class ToolCommand:
    """A tool's words. A `configuration` goes into a file, as it holds a private key; its name is then the last word."""

    words: tuple[str, ...]
    configuration: str = field(default="", repr=False)


def differences(overlay: Overlay, key: str, chosen: Mapping[str, str], seen: OverlaySeen) -> tuple[ToolCommand, ...]:
    """Commands in order, none where all is as wanted. Its links have to be there. `chosen`: by node, the name of the
    path that is taken to it."""
    return (
        *(command for link in overlay.links for command in _link(overlay, link, key, seen.links[link.name])),
        *_addresses(overlay, seen.addresses),
        *_routes(overlay, chosen, seen.routes),
    )


def removal(seen: OverlaySeen) -> tuple[ToolCommand, ...]:
    """Commands in order that take away all there is of it, none where nothing is."""
    return (
        *(_unrouted(route) for route in sorted(seen.routes, key=lambda r: (r.metric, r.to))),
        *(_unbound(address) for address in sorted(seen.addresses)),
        *(ToolCommand(("ip", "link", "del", name)) for name in sorted(seen.links)),
    )


def routed(overlay: Overlay, seen: OverlaySeen) -> dict[str, str]:
    """By node, the name of the path the kernel takes to it: an agent that begins goes on with what is there."""
    path_of = {link.name: link.path for link in overlay.links}
    taken_by = {route.to: path_of.get(route.link, "") for route in seen.routes if route.metric == _CHOSEN}
    return {peer.node: taken_by.get(IPv6Network(peer.vm), "") for peer in overlay.peers}


def taken(overlay: Overlay, peer: Peer, path: str) -> tuple[ToolCommand, ...]:
    """To that peer by that path from now on: each of its addresses in one step, with no moment without a route."""
    link = overlay.link_of(path).name
    return tuple(_put(overlay, route) for route in _to_peer(peer, link))


def configuration(overlay: Overlay, link: Link, key: str) -> str:
    """As `wg syncconf` takes it (wg(8))."""
    text = f"[Interface]\nPrivateKey = {key}\nListenPort = {link.port}\n"
    for peer, at in _peers(overlay, link):
        text += f"[Peer]\nPublicKey = {peer.public_key}\nAllowedIPs = {', '.join(sorted(_allowed(peer)))}\n"
        text += f"Endpoint = {at}\nPersistentKeepalive = {KEEPALIVE_S}\n" if at else ""
    return text


def _link(overlay: Overlay, link: Link, key: str, seen: LinkSeen) -> Iterator[ToolCommand]:
    there = {peer.public_key: (peer, at) for peer, at in _peers(overlay, link)}
    is_so = (seen.key, seen.port, seen.peers.keys()) == (key, link.port, there.keys()) and all(
        _is_as_wanted(peer, at, seen.peers[public_key]) for public_key, (peer, at) in there.items()
    )
    if not is_so:
        yield ToolCommand(("wg", "syncconf", link.name), configuration(overlay, link, key))
    if not seen.is_up or seen.mtu != overlay.mtu:
        yield ToolCommand(("ip", "link", "set", link.name, "mtu", str(overlay.mtu), "up"))


def _is_as_wanted(peer: Peer, at: HostPort | None, seen: PeerSeen) -> bool:
    """Where a peer behind NAT is at the moment is its own word, by its last packet."""
    return seen.allowed == _allowed(peer) and (at is None or (seen.endpoint, seen.keepalive_s) == (at, KEEPALIVE_S))


def _peers(overlay: Overlay, link: Link) -> Iterator[tuple[Peer, HostPort | None]]:
    return ((peer, peer.paths[link.path]) for peer in overlay.peers if link.path in peer.paths)


def _allowed(peer: Peer) -> frozenset[str]:
    return frozenset(f"{address}/128" for address in peer.addresses)


def _addresses(overlay: Overlay, seen: frozenset[IPv6Address]) -> Iterator[ToolCommand]:
    wanted = {overlay.vm, *overlay.services}
    for address in sorted(wanted - seen):
        # without `nodad` the kernel takes it for tentative for a moment, in which no route may name it as its source
        yield ToolCommand(("ip", "address", "add", f"{address}/128", "dev", "lo", "nodad"))
    for address in sorted(seen - wanted):
        yield _unbound(address)


def _unbound(address: IPv6Address) -> ToolCommand:
    return ToolCommand(("ip", "address", "del", f"{address}/128", "dev", "lo"))


def _routes(overlay: Overlay, chosen: Mapping[str, str], seen: frozenset[Route]) -> Iterator[ToolCommand]:
    """What is new or another is put, and then what is too much is taken away: never the other way round."""
    wanted = [Route(overlay.prefix, _NOWHERE)]
    wanted += [Route(overlay.prefix, _LINK + n, link.name) for n, link in enumerate(overlay.links)]
    for peer in overlay.peers:
        path = chosen.get(peer.node) or next((path for path in overlay.order if path in peer.paths), "")
        wanted += _to_peer(peer, overlay.link_of(path).name) if path else []
    yield from (_put(overlay, route) for route in wanted if route not in seen)
    kept = {(route.to, route.metric) for route in wanted}
    for route in sorted(seen, key=lambda r: (r.to, r.metric)):
        if (route.to, route.metric) not in kept:
            yield _unrouted(route)


def _unrouted(route: Route) -> ToolCommand:
    return ToolCommand(("ip", "-6", "route", "del", str(route.to), "metric", str(route.metric)))


def _to_peer(peer: Peer, link: str) -> list[Route]:
    return [Route(IPv6Network(address), _CHOSEN, link) for address in peer.addresses]


def _put(overlay: Overlay, route: Route) -> ToolCommand:
    words = ("ip", "-6", "route", "replace", *(() if route.link else ("unreachable",)), str(route.to))
    words += ("dev", route.link or "lo", "metric", str(route.metric))
    return ToolCommand((*words, "src", str(overlay.vm), "mtu", str(overlay.mtu)) if route.link else words)
