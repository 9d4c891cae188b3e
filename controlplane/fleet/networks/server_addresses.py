"""Where the servers of this installation dial from, so that the firewalls Kedge makes let in who keeps the clusters."""

import socket
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv4Network, ip_address

ServerCidrs = Callable[[IPv4Network], tuple[str, ...] | None]
"""By what networks, as CIDRs, servers come to addresses of that pool; None where nobody can tell."""

LONGEST_PREFIX = 32
WIDEST_PREFIX = 16
"""A server is a machine or two, or a subnet they are in; anything wider is a slip that opens brokers to a site."""


def server_network(text: str) -> str:
    """One of `clouds.server_addresses`, as a CIDR. Raises ValueError, in words for people."""
    try:
        network = IPv4Network(text)
    except ValueError:
        raise ValueError(
            f"{text!r} is not an IPv4 address or network: write 10.0.0.5, or 10.0.0.0/28 (VMs have private ones)"
        ) from None
    if network.prefixlen < WIDEST_PREFIX:
        raise ValueError(f"{text!r} is wider than a /{WIDEST_PREFIX}: name the servers, or the subnet they are in")
    if not _dials_from(network.network_address):
        raise ValueError(f"{text!r} is not an address a server dials other machines from")
    return str(network)


def server_cidrs(declared: Sequence[str], agents_at: str, way_out: Callable[[str], str] | None = None) -> ServerCidrs:
    """`declared` wins, whatever this machine's addresses are. Without any they are found: the one this machine would
    dial the pool from, and where agents are served at one address (`agents_at`), that.

    A server that serves agents on loopback alone has no VMs elsewhere, and is found nowhere. A name is not looked up:
    what a load balancer's says today it does not say tomorrow, and is not where the server dials from.
    """
    dials_from = way_out or _way_out

    def cidrs(pool: IPv4Network) -> tuple[str, ...] | None:
        if declared:
            return tuple(sorted({server_network(one) for one in declared}))
        if not agents_at:
            return None
        try:
            found = {dials_from(str(pool.network_address + 1))}
        except OSError:
            return None  # without a route for now: what is let in stays
        found = {one for one in (*found, agents_at) if _dials_from(_address(one))}
        return tuple(sorted(f"{one}/{LONGEST_PREFIX}" for one in found)) or None

    return cidrs


def servers_at(
    declared: Sequence[str], *, is_here: bool = True, way_out: Callable[[str], str] | None = None
) -> Callable[[str], tuple[str, ...]]:
    """By what networks, as CIDRs, servers come to one address. `declared` wins; without any it is the address this
    machine would dial that one from, where who dials is here. Nothing where nobody can tell."""
    dials_from = way_out or _way_out

    def cidrs(address: str) -> tuple[str, ...]:
        if declared:
            return tuple(sorted({server_network(one) for one in declared}))
        if not is_here:
            return ()
        try:
            found = dials_from(address)
        except OSError:
            return ()
        return (f"{found}/{LONGEST_PREFIX}",) if _dials_from(_address(found)) else ()

    return cidrs


def _way_out(address: str) -> str:
    """The address this machine would dial that one from, by its routes: a datagram socket that sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.connect((address, 9))
        return str(line.getsockname()[0])


def _address(text: str) -> IPv4Address | None:
    try:
        found = ip_address(text)
    except ValueError:
        return None
    return found if isinstance(found, IPv4Address) else None


def _dials_from(address: IPv4Address | None) -> bool:
    return address is not None and not (address.is_loopback or address.is_unspecified or address.is_multicast)
