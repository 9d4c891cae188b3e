"""Who still stands in a shut door: what `ss` lists. Pure."""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address

from agent.door.order import DoorOrder
from agent.tools import ToolFailed


def client_connections(listed: str, order: DoorOrder) -> tuple[tuple[str, str], ...]:
    """Both ends of each connection of a client, as `ss -Htn` lists them. Raises ToolFailed for what is no such list."""
    found = []
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
        if not is_own and not any(far in network for network in order.networks):
            found.append((local, peer))
    return tuple(found)


def _host(end: str) -> IPv4Address | IPv6Address:
    """Of an address and port; one of IPv4 that a socket of IPv6 has is that one."""
    address = ip_address(end.rpartition(":")[0].strip("[]").partition("%")[0])
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address


def listing(order: DoorOrder) -> Sequence[str]:
    ports = " or ".join(f"sport = :{port}" for port in sorted(set(order.ports)))
    return ("ss", "-Htn", "state", "established", f"( {ports} )")
