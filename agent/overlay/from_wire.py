"""What a document says of the overlay, judged before anything acts on it, and as the agent works with it. Pure.

The server makes no such mistakes; a document of another cluster, of a bug or of a restored backup would have them, and
each would send a node's traffic to somebody else, or to nobody.
"""

import re
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from ipaddress import IPv6Address, IPv6Network, ip_address

from agent.host_port import HostPort
from agent.overlay.addresses import prefix_of, vm_address
from agent.overlay.keys import is_key
from agent.overlay.network import Link, Overlay, Peer
from agent.overlay.probing import PORT
from agent.wire_overlay import OverlayDocument, OverlayLink, OverlayPeer

MOST_PEERS = 199
"""Each is probed once a second by each path: so many cost an agent 1.5 % of a core."""
_LINK = re.compile(r"kedge-[a-z0-9-]{1,9}")
"""15 letters at most, as the kernel has it; an `off` takes no interface of somebody else away."""
_LOWEST_PORT, _HIGHEST_PORT = 1024, 65_535


def overlay_of(told: OverlayDocument) -> Overlay:
    """Of one that was found right."""
    return Overlay(
        told.prefix,
        told.vm,
        told.services,
        tuple(Link(link.name, link.path, link.port) for link in told.links),
        tuple(Peer(vm_name(p.node, p.generation), p.public_key, p.vm, p.services, _endpoints(p)) for p in told.peers),
        told.mtu,
        told.epoch,
    )


def vm_name(node: str, generation: int) -> str:
    """As the server calls it. While a VM takes the place of another one both are there, with one node's name."""
    return f"{node}.g{generation}"


def wrong_overlay(told: OverlayDocument, *, cluster_uid: str, node: str, generation: int) -> str:
    """What is wrong with it for that VM, and why that counts; "" where all is well."""
    own = vm_name(node, generation)
    if told.prefix != prefix_of(cluster_uid):
        return f"{told.prefix} is not the prefix of this cluster, {prefix_of(cluster_uid)}: it is told of another one"
    if told.vm != vm_address(told.prefix, node, generation):
        return f"{told.vm} is not the address of {own}, {vm_address(told.prefix, node, generation)}: it is another VM's"
    names = [own, *(vm_name(peer.node, peer.generation) for peer in told.peers)]
    return (
        _wrong_links(told)
        or _twice(names, "{} is there twice, counting this VM itself")
        or _wrong_addresses(told, own)
        or next((f"peer {name}: {wrong}" for name, wrong in _wrong_peers(told)), "")
        or _wrong_keys(told.peers)
        or _wrong_endpoints(told.peers)
        or (f"{len(told.peers)} peers are more than {MOST_PEERS}" if len(told.peers) > MOST_PEERS else "")
    )


def _endpoints(peer: OverlayPeer) -> dict[str, HostPort | None]:
    return {path: HostPort.parse(at) if at else None for path, at in peer.paths.items()}


def _wrong_links(told: OverlayDocument) -> str:
    if not told.links:
        return "it has no tunnel"
    for link in told.links:
        if not _LINK.fullmatch(link.name):
            return (
                f"{link.name!r} is no name of a tunnel, as in `kedge-private`: it may be an interface of somebody else"
            )
        if not _LOWEST_PORT <= link.port <= _HIGHEST_PORT or link.port == PORT:
            return (
                f"tunnel {link.name} has port {link.port}: it has to be {_LOWEST_PORT} to {_HIGHEST_PORT}, and not"
                f" {PORT}, by which paths are probed"
            )
    each: tuple[Callable[[OverlayLink], Hashable], ...] = (
        lambda link: link.name,
        lambda link: link.path,
        lambda link: link.port,
    )
    return next((w for of in each if (w := _twice(map(of, told.links), "two tunnels have {}"))), "")


def _wrong_addresses(told: OverlayDocument, own: str) -> str:
    holder_of: dict[IPv6Address, str] = {}
    for holder, address in _addresses(told, own):
        if address not in told.prefix or address.scope_id is not None:
            return f"{address} of {holder} is not within {told.prefix}: it is of another network or cluster"
        if address in holder_of:
            return f"{address} is both of {holder_of[address]} and of {holder}: only one of them would be reached"
        holder_of[address] = holder
    return ""


def _addresses(told: OverlayDocument, own: str) -> Iterator[tuple[str, IPv6Address]]:
    yield from ((own, address) for address in (told.vm, *told.services))
    for peer in told.peers:
        yield from ((vm_name(peer.node, peer.generation), address) for address in (peer.vm, *peer.services))


def _wrong_peers(told: OverlayDocument) -> Iterator[tuple[str, str]]:
    paths = {link.path for link in told.links}
    for peer in told.peers:
        name = vm_name(peer.node, peer.generation)
        if peer.vm != vm_address(told.prefix, peer.node, peer.generation):
            yield name, f"{peer.vm} is another VM's address"
        for path, at in peer.paths.items():
            if path not in paths:
                yield name, f"there is no tunnel for path {path!r}, only for {', '.join(sorted(paths))}"
            elif at is not None and (wrong := _wrong_endpoint(at, told.prefix)):
                yield name, f"it cannot be called at {at!r} by path {path!r}: {wrong}"


def _wrong_endpoint(at: str, prefix: IPv6Network) -> str:
    """A tunnel that goes through itself, or back to this VM, carries nothing."""
    try:
        host = ip_address(HostPort.parse(at).host)
    except ValueError:
        return "that is no address with a port, as in 10.0.0.1:51820 or [2001:db8::1]:51820"
    if isinstance(host, IPv6Address) and host in prefix:
        return "that is an address within the overlay itself"
    if host.is_loopback or host.is_unspecified or host.is_link_local or host.is_multicast:
        return "no other VM is there"
    return ""


def _wrong_keys(peers: Iterable[OverlayPeer]) -> str:
    holder_of: dict[bytes, str] = {}
    for peer in peers:
        name = vm_name(peer.node, peer.generation)
        if not is_key(peer.public_key):
            return f"peer {name}: its public key is none of WireGuard's, 32 bytes in base64"
        key = b64decode(peer.public_key)  # one key has several spellings
        if key in holder_of:
            return f"peers {holder_of[key]} and {name} have one key, as VMs made from one disk: replace one"
        holder_of[key] = name
    return ""


def _wrong_endpoints(peers: Iterable[OverlayPeer]) -> str:
    """Of one path: the private networks of two clouds may have the same addresses."""
    called = [(path, str(at)) for peer in peers for path, at in _endpoints(peer).items() if at is not None]
    return _twice((f"{at} by path {path!r}" for path, at in called), "two peers would be called at {}")


def _twice(found: Iterable[Hashable], words: str) -> str:
    return next((words.format(one) for one, count in Counter(found).items() if count > 1), "")
