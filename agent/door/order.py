"""What the server wants of a door, what is in force, and the rules for the kernel. Pure."""

from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Network, IPv6Network, ip_network

from agent.packet_filter import anew
from agent.wire_door import DoorDocument

TABLE = ("inet", "kedge_door")
_LEAST_PREFIX = 8


class DoorAccess(StrEnum):
    """NONE: the cluster is of no pair any more, and said so."""

    OPEN = "open"
    SHUT = "shut"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class OrderedDoor:
    """What the server wants. `pair` is the uid of the pair, within which epochs are compared. `ports` are those of
    listeners for clients; `members` get in at a shut door: networks of the cluster's nodes, of what copies, of Kedge's
    servers. Raises ValueError for what would shut the cluster's own nodes out, or nearly nobody."""

    pair: str
    epoch: int
    state: DoorAccess
    ports: tuple[int, ...]
    members: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.epoch < 0:
            raise ValueError(f"a door has epochs from 0 on, not {self.epoch}")
        if not self.ports or any(not 0 < port < 65536 for port in self.ports):
            raise ValueError("a door is of one port of a listener at least")
        if not self.members:
            raise ValueError("a door without members would part the cluster's own nodes")
        wide = [str(one) for one in self.networks if one.prefixlen < _LEAST_PREFIX]
        if wide:
            raise ValueError(f"{wide[0]} as a member of a door would be nearly everybody")

    @property
    def networks(self) -> tuple[IPv4Network | IPv6Network, ...]:
        return tuple(ip_network(member) for member in self.members)


@dataclass(frozen=True, slots=True)
class DoorStatus:
    """What is in force. `connections` of clients are those that still stand, None where nobody can count them;
    `problem` why it is not as ordered. Only `is_in_force` proves anything: the kernel has the rules of this epoch."""

    pair: str
    epoch: int
    state: DoorAccess
    is_in_force: bool
    connections: int | None = None
    problem: str = ""

    @property
    def is_shut(self) -> bool:
        """Proved: no client can send a byte, and none that could is left."""
        return self.state is DoorAccess.SHUT and self.is_in_force and self.connections == 0


def order_of(document: DoorDocument) -> OrderedDoor:
    """Raises ValueError."""
    return OrderedDoor(document.pair, document.epoch, DoorAccess(document.state), document.ports, document.members)


def wrong_door(document: DoorDocument) -> str:
    """Why a document's door is not followed, "" where it is."""
    try:
        order_of(document)
    except ValueError as error:
        return str(error)
    return ""


def door_rules(order: OrderedDoor, access: DoorAccess) -> str:
    """The table as `nft -f` takes it, in one transaction over the one before. Pure.

    Both ways: a broker that answers late has its own end of the connection reset.
    """
    chains = _chain("in", "input", order) + _chain("out", "output", order) if access is DoorAccess.SHUT else ""
    return f'{anew(TABLE)}table {" ".join(TABLE)} {{\n\tcomment "epoch {order.epoch}, {access}"\n{chains}}}\n'


def _chain(name: str, hook: str, order: OrderedDoor) -> str:
    port, address, device = ("dport", "saddr", "iifname") if hook == "input" else ("sport", "daddr", "oifname")
    ports = ", ".join(str(number) for number in sorted(set(order.ports)))
    lines = [
        f"type filter hook {hook} priority -4; policy accept;",
        f"tcp {port} != {{ {ports} }} accept",
        "meta l4proto != tcp accept",
        *(["tcp flags & rst == rst accept"] if hook == "output" else []),  # what the other chain answers with
        f'{device} "lo" accept',
    ]
    for family, version in (("ip", 4), ("ip6", 6)):
        let_in = ", ".join(sorted(str(one) for one in set(order.networks) if one.version == version))
        lines += [f"{family} {address} {{ {let_in} }} accept"] if let_in else []
    lines.append("reject with tcp reset")
    return f"\tchain {name} {{\n" + "".join(f"\t\t{line}\n" for line in lines) + "\t}\n"
