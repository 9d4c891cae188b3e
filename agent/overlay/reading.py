"""What the kernel has of an overlay, from `wg` and iproute2, and its tunnels made."""

import json
from collections.abc import Iterator
from ipaddress import IPv6Address, IPv6Network, ip_address

from agent.host_port import HostPort
from agent.overlay.network import Link, Overlay
from agent.overlay.tunnels import LinkSeen, OverlaySeen, PeerSeen, Route
from agent.tools import Tool, ToolFailed, output_of

_UNKNOWN_KIND = ("Unknown device type", "Operation not supported")
"""What iproute2 says of a kernel without WireGuard: Linux of Debian 12's clouds has it, some have not."""


def seen(run: Tool, overlay: Overlay, *, makes: bool = True) -> OverlaySeen:
    """What is there now; tunnels that are missing are made, without a key, where it `makes` them. Raises ToolFailed."""
    there = {link["ifname"]: link for link in _json(run, "ip", "-json", "link", "show")}
    links = {}
    for link in overlay.links:
        if link.name not in there:
            if not makes:
                continue
            _make(run, link)
        links[link.name] = _link(run, link, there.get(link.name, {}))
    return OverlaySeen(links, _addresses(run, overlay.prefix), frozenset(_routes(run, overlay.prefix)))


def _make(run: Tool, link: Link) -> None:
    """By the kernel, else by wireguard-go, which goes on without the agent."""
    try:
        output_of(run, ("ip", "link", "add", link.name, "type", "wireguard"))
    except ToolFailed as failed:
        if not any(words in str(failed) for words in _UNKNOWN_KIND):
            raise
        output_of(run, ("wireguard-go", link.name))


def _link(run: Tool, link: Link, told: dict[str, object]) -> LinkSeen:
    """`wg show NAME dump`: the interface in the first line, a peer in each other one; fields are set apart by tabs."""
    own, *peers = output_of(run, ("wg", "show", link.name, "dump")).splitlines()
    key, _, port, _ = own.split("\t")
    found = {}
    for line in peers:
        public_key, _, endpoint, allowed, _, _, _, keepalive = line.split("\t")
        found[public_key] = PeerSeen(
            None if endpoint == "(none)" else HostPort.parse(endpoint),
            frozenset() if allowed == "(none)" else frozenset(allowed.split(",")),
            0 if keepalive == "off" else int(keepalive),
        )
    flags, mtu = told.get("flags"), told.get("mtu")
    is_up = isinstance(flags, list) and "UP" in flags
    return LinkSeen(is_up, mtu if isinstance(mtu, int) else 0, "" if key == "(none)" else key, int(port), found)


def _addresses(run: Tool, prefix: IPv6Network) -> frozenset[IPv6Address]:
    (lo,) = _json(run, "ip", "-6", "-json", "address", "show", "dev", "lo") or [{}]
    found = (ip_address(one["local"]) for one in lo.get("addr_info", ()))
    return frozenset(one for one in found if isinstance(one, IPv6Address) and one in prefix)


def _routes(run: Tool, prefix: IPv6Network) -> Iterator[Route]:
    for one in _json(run, "ip", "-6", "-json", "route", "show", "table", "main"):
        to = IPv6Network("::/0") if one["dst"] == "default" else IPv6Network(one["dst"])
        # an own address on `lo` has a route of the kernel's beside it
        if to.subnet_of(prefix) and one.get("protocol") != "kernel":
            yield Route(to, int(one["metric"]), "" if one.get("type") == "unreachable" else one["dev"])


def _json(run: Tool, *words: str) -> list[dict]:  # type: ignore[type-arg]  # iproute2's own shapes
    found = json.loads(output_of(run, words) or "[]")
    return [one for one in found if one]
