"""Who still stands in a shut door: what `ss` lists. Pure."""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from agent.door.order import OrderedDoor
from agent.tools import ToolFailed


def client_connections(listed: str, order: OrderedDoor) -> tuple[tuple[str, str], ...]:
    """Both ends of each connection of a client, as `ss -Htn` lists them. Raises ToolFailed for what is no such list."""
    found, networks = [], order.networks
    for line in listed.splitlines():
        parts = line.split()
        if not parts:
            continue
        try:
            local, peer = parts[-2], parts[-1]
            far, near = _host(peer), _host(local)
        except (IndexError, ValueError) as error:
            raise ToolFailed(f"`ss` lists what nobody can read: {line.strip()[:100]}") from error
        is_own = far.is_loopback or far == near
        if not is_own and not any(far in network for network in networks):
            found.append((local, peer))
    return tuple(found)


def _host(end: str) -> IPv4Address | IPv6Address:
    """Of an address and port; one of IPv4 that a socket of IPv6 has is that one."""
    address = ip_address(end.rpartition(":")[0].partition("%")[0].strip("[]"))  # `[fe80::1]%eth0:9092`, too
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address


def ending(order: OrderedDoor) -> Sequence[str]:
    """Ends all connections of clients at once: thousands stand in the door of a busy cluster."""
    others = (f"and not dst {network}" for network in ("127.0.0.0/8", "[::1]", *map(_as_filter, order.networks)))
    return ("ss", "-K", "-tn", "state", "established", f"( {_ports(order)} )", *" ".join(others).split())


def listing(order: OrderedDoor) -> Sequence[str]:
    """Tells those of clients and of members."""
    return ("ss", "-Htn", "state", "established", f"( {_ports(order)} )")


def _ports(order: OrderedDoor) -> str:
    return " or ".join(f"sport = :{port}" for port in sorted(set(order.ports)))


def _as_filter(network: IPv4Network | IPv6Network) -> str:
    """As `ss` takes it."""
    return str(network) if network.version == 4 else f"[{network.network_address}]/{network.prefixlen}"
