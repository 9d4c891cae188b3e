"""The door of one VM, kept as it is wanted."""

import json
import logging
from dataclasses import asdict
from pathlib import Path

from agent.door.connections import client_connections, listing
from agent.door.kept import KeptOrder, counting
from agent.door.order import TABLE, DoorAccess, DoorOrder, DoorStatus, door_rules
from agent.durable import write_durably
from agent.packet_filter import PacketFilter
from agent.tools import Tool, ToolFailed, output_of, run_tool

_log = logging.getLogger(__name__)

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_LOOK_EVERY_S = 2.0
"""How often it is looked whether the kernel still has the rules, and who is still connected."""


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
        wanted = counting(order, kept, self._boot_id, is_confirmed=is_confirmed)
        if wanted is None:
            return None
        if wanted.state is DoorAccess.NONE:
            self._give_up()
            return None
        if kept is None or kept != KeptOrder(wanted, self._boot_id):
            self._write(
                KeptOrder(wanted, self._boot_id)
            )  # before it is in force: an agent that dies now goes on with it
        report = self._filter.keep(door_rules(wanted), now_s)
        problem = report.problem if report is not None else ""
        if order is not None and order.epoch < wanted.epoch:
            problem = problem or f"an order of epoch {order.epoch} came after one of {wanted.epoch}; it is not followed"
        in_force = report is not None and not report.problem
        connections = self._counted(wanted, now_s) if in_force and wanted.state is DoorAccess.SHUT else None
        return DoorStatus(wanted.epoch, wanted.state, in_force, connections, problem)

    def _give_up(self) -> None:
        """The cluster is of no pair any more."""
        if self._run(("nft", "list", "table", *TABLE)).code == 0:
            output_of(self._run, ("nft", "delete", "table", *TABLE))
        self._file.unlink(missing_ok=True)
        _log.info("the cluster is of no pair any more: its door is gone")

    def _counted(self, order: DoorOrder, now_s: float) -> int | None:
        """Ends what stands, where the kernel can, and counts what is left."""
        if now_s - self._counted_s < _LOOK_EVERY_S and self._connections is not None:
            return self._connections
        self._counted_s = now_s
        try:
            clients = client_connections(output_of(self._run, listing(order)), order)
            for local, peer in clients:
                self._run(("ss", "-K", "-tn", "src", local, "dst", peer))  # a kernel without it says so, and goes on
            left = client_connections(output_of(self._run, listing(order)), order) if clients else ()
            self._connections = len(left)
        except ToolFailed as error:
            if str(error) != self._problem:
                _log.warning("connections of clients cannot be counted: %s", error)
            self._problem, self._connections = str(error), None
        return self._connections

    def _kept(self) -> KeptOrder | None:
        try:
            text = self._file.read_bytes()
        except FileNotFoundError:
            return None
        try:
            told = json.loads(text)
            ports, members = tuple(map(int, told["ports"])), tuple(map(str, told["members"]))
            return KeptOrder(
                DoorOrder(int(told["epoch"]), DoorAccess(told["state"]), ports, members), str(told["boot_id"])
            )
        except (ValueError, KeyError, TypeError) as error:
            raise OSError(f"{self._file} cannot be read, and the door stays as it is: {error}") from error

    def _write(self, kept: KeptOrder) -> None:
        write_durably(self._file, json.dumps({**asdict(kept.order), "boot_id": kept.boot_id}).encode(), mode=0o600)
        _log.info("the door is to be %s, epoch %d", kept.order.state, kept.order.epoch)
