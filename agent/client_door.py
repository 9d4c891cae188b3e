"""Whether clients get in at a broker's VM: the door of a pair of clusters, of which at most one is open at any time.

Shut, every packet of a client at the ports of listeners is answered with a TCP reset, of connections that stand, too:
it is what makes clients look for another cluster within a second or two, where silence takes them minutes (measured on
Java's and librdkafka's clients). Members of the cluster, what copies between the two, and Kedge get in all the same.

What is in force is kept on disk. After a boot it is shut, whatever it was: a primary that was dead may have been taken
over from, and only the server knows. An order of an earlier epoch than the last one is nothing that is followed.
"""

import json
import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from pathlib import Path

from agent.durable import write_durably
from agent.packet_filter import PacketFilter
from agent.tools import Tool, ToolFailed, output_of, run_tool

_log = logging.getLogger(__name__)

TABLE = ("inet", "kedge_door")
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_LOOK_EVERY_S = 2.0
"""How often it is looked whether the kernel still has the rules, and who is still connected."""


class DoorState(StrEnum):
    """NONE: the cluster is of no pair any more, and said so."""

    OPEN = "open"
    SHUT = "shut"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class DoorOrder:
    """What the server wants. `ports` are those of listeners for clients; `members` get in at a shut door: networks of
    the cluster's nodes, of what copies, of Kedge's servers. Raises ValueError for what would shut the cluster's own
    nodes out, or nobody."""

    epoch: int
    state: DoorState
    ports: tuple[int, ...]
    members: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.epoch < 1:
            raise ValueError(f"a door has epochs from 1 on, not {self.epoch}")
        if not self.ports or any(not 0 < port < 65536 for port in self.ports):
            raise ValueError("a door is of one port of a listener at least")
        if not self.members:
            raise ValueError("a door without members would part the cluster's own nodes")
        for member in self.members:
            ip_network(member)

    @property
    def networks(self) -> tuple[IPv4Network | IPv6Network, ...]:
        return tuple(ip_network(member) for member in self.members)


@dataclass(frozen=True, slots=True)
class DoorStatus:
    """What is in force. `connections` of clients are those that still stand, None where nobody can count them;
    `problem` why it is not as ordered. Only `is_in_force` proves anything: the kernel has the rules of this epoch."""

    epoch: int
    state: DoorState
    is_in_force: bool
    connections: int | None = None
    problem: str = ""

    @property
    def is_shut(self) -> bool:
        """Proved: no client can send a byte, and none that could is left."""
        return self.state is DoorState.SHUT and self.is_in_force and self.connections == 0


def door_rules(order: DoorOrder) -> str:
    """The table as `nft -f` takes it, in one transaction over the one before. Pure.

    Both ways: a broker that answers late has its own end of the connection reset.
    """
    table, is_shut = " ".join(TABLE), order.state is DoorState.SHUT
    begins = f"table {table} {{}}\ndelete table {table}\ntable {table} {{\n"
    chains = _chain("in", "input", order) + _chain("out", "output", order) if is_shut else ""
    return f'{begins}\tcomment "epoch {order.epoch}, {order.state}"\n{chains}}}\n'


def _chain(name: str, hook: str, order: DoorOrder) -> str:
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


@dataclass(frozen=True, slots=True)
class _Kept:
    """On disk: the last order that was followed, and the boot it was followed in."""

    order: DoorOrder
    boot_id: str


class ClientDoor:
    """Of one thread. `folder` is the agent's own."""

    def __init__(self, folder: Path, run: Tool = run_tool, *, boot_id: Path = BOOT_ID) -> None:
        self._file, self._run = folder / "client-door.json", run
        self._filter = PacketFilter(folder / "client-door.nft", run, table=TABLE, look_every_s=_LOOK_EVERY_S)
        self._boot_id = boot_id.read_text().strip()
        self._counted_s, self._problem = float("-inf"), ""
        self._connections: int | None = None

    def keep(self, order: DoorOrder | None, *, is_confirmed: bool, now_s: float) -> DoorStatus | None:
        """Puts into force what counts; None where this VM has no door.

        `is_confirmed`: the server gave this order since the VM booted. A document without an order says nothing: one
        of a server of an earlier release has none. Raises OSError where what is kept cannot be read or written: then
        what is in force stays.
        """
        kept = self._kept()
        wanted = _wanted(order, kept, self._boot_id, is_confirmed=is_confirmed)
        if wanted is None:
            return None
        if wanted.state is DoorState.NONE:
            self._give_up()
            return None
        if kept is None or kept != _Kept(wanted, self._boot_id):
            self._write(_Kept(wanted, self._boot_id))  # before it is in force: an agent that dies now goes on with it
        report = self._filter.keep(door_rules(wanted), now_s)
        problem = report.problem if report is not None else ""
        if order is not None and order.epoch < wanted.epoch:
            problem = problem or f"an order of epoch {order.epoch} came after one of {wanted.epoch}; it is not followed"
        in_force = report is not None and not report.problem
        connections = self._standing(wanted, now_s) if in_force and wanted.state is DoorState.SHUT else None
        return DoorStatus(wanted.epoch, wanted.state, in_force, connections, problem)

    def _give_up(self) -> None:
        """The cluster is of no pair any more."""
        if self._run(("nft", "list", "table", *TABLE)).code == 0:
            output_of(self._run, ("nft", "delete", "table", *TABLE))
        self._file.unlink(missing_ok=True)
        _log.info("the cluster is of no pair any more: its door is gone")

    def _standing(self, order: DoorOrder, now_s: float) -> int | None:
        """Ends what stands, where the kernel can, and counts what is left."""
        if now_s - self._counted_s < _LOOK_EVERY_S and self._connections is not None:
            return self._connections
        self._counted_s = now_s
        try:
            clients = client_connections(output_of(self._run, _listing(order)), order)
            for local, peer in clients:
                self._run(("ss", "-K", "-tn", "src", local, "dst", peer))  # a kernel without it says so, and goes on
            left = client_connections(output_of(self._run, _listing(order)), order) if clients else ()
            self._connections = len(left)
        except ToolFailed as error:
            if str(error) != self._problem:
                _log.warning("connections of clients cannot be counted: %s", error)
            self._problem, self._connections = str(error), None
        return self._connections

    def _kept(self) -> _Kept | None:
        try:
            text = self._file.read_bytes()
        except FileNotFoundError:
            return None
        try:
            told = json.loads(text)
            ports, members = tuple(map(int, told["ports"])), tuple(map(str, told["members"]))
            return _Kept(DoorOrder(int(told["epoch"]), DoorState(told["state"]), ports, members), str(told["boot_id"]))
        except (ValueError, KeyError, TypeError) as error:
            raise OSError(f"{self._file} cannot be read, and the door stays as it is: {error}") from error

    def _write(self, kept: _Kept) -> None:
        write_durably(self._file, json.dumps({**asdict(kept.order), "boot_id": kept.boot_id}).encode(), mode=0o600)
        _log.info("the door is to be %s, epoch %d", kept.order.state, kept.order.epoch)


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


def _listing(order: DoorOrder) -> Sequence[str]:
    ports = " or ".join(f"sport = :{port}" for port in sorted(set(order.ports)))
    return ("ss", "-Htn", "state", "established", f"( {ports} )")


def _wanted(order: DoorOrder | None, kept: _Kept | None, boot_id: str, *, is_confirmed: bool) -> DoorOrder | None:
    """The order that counts. Pure."""
    if order is None and kept is None:
        return None
    newest = order if order is not None and (kept is None or order.epoch >= kept.order.epoch) else None
    if newest is not None and is_confirmed:
        return newest
    # Of what the server did not say since the boot only that counts which lets nobody in.
    goes_on = kept is not None and kept.boot_id == boot_id and kept.order.state is DoorState.OPEN
    counts = newest or (kept.order if kept is not None else None)
    assert counts is not None
    is_the_same = kept is not None and counts.epoch == kept.order.epoch and counts.state is DoorState.OPEN
    return replace(counts, state=DoorState.OPEN if goes_on and is_the_same else DoorState.SHUT)
