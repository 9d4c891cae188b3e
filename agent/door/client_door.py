"""The door of one VM, kept as it is wanted."""

import json
import logging
from dataclasses import asdict
from pathlib import Path

from agent.door.connections import client_connections, ending, listing
from agent.door.kept import KeptOrder, counting
from agent.door.order import TABLE, DoorAccess, DoorStatus, OrderedDoor, door_rules
from agent.durable import write_durably
from agent.packet_filter import PacketFilter
from agent.tools import Tool, ToolFailed, output_of, run_tool

_log = logging.getLogger(__name__)

_LOOK_EVERY_S = 2.0
"""How often it is looked whether the kernel still has the rules, and who is still connected."""


class ClientDoor:
    """Of one thread. `folder` is the agent's own, `boot_id` another one after each boot."""

    def __init__(self, folder: Path, boot_id: str, run: Tool = run_tool) -> None:
        self._file, self._run = folder / "client-door.json", run
        self._filter = PacketFilter(folder / "client-door.nft", run, table=TABLE, look_every_s=_LOOK_EVERY_S)
        self._boot_id = boot_id
        self._counted_s, self._problem = float("-inf"), ""
        self._connections: int | None = None

    def keep(self, order: OrderedDoor | None, *, is_confirmed: bool, now_s: float) -> DoorStatus | None:
        """Puts into force what counts; None where this VM has no door.

        `is_confirmed`: the server gave this order since the VM booted. A document without an order says nothing: one
        of a server of an earlier release has none. Raises OSError where what is kept cannot be read or written: then
        what is in force stays.
        """
        kept = self._kept()
        wanted, refused = counting(order, kept, self._boot_id, is_confirmed=is_confirmed)
        if wanted is None:
            return None
        if wanted.order.state is DoorAccess.NONE:
            self._give_up()
            return None
        if wanted != kept:
            self._write(wanted)  # before it is in force: an agent that dies now goes on with it
            self._connections = None  # who was counted before it was shut proves nothing
        report = self._filter.keep(door_rules(wanted.order, wanted.access), now_s)
        problem = report.problem if report is not None else ""
        in_force = report is not None and not problem
        is_shut = in_force and wanted.access is DoorAccess.SHUT
        connections = self._counted(wanted.order, now_s) if is_shut else None
        return DoorStatus(
            wanted.order.pair, wanted.order.epoch, wanted.access, in_force, connections, problem or refused
        )

    def _give_up(self) -> None:
        """The cluster is of no pair any more."""
        self._filter.remove()
        self._file.unlink(missing_ok=True)
        _log.info("the cluster is of no pair any more: its door is gone")

    def _counted(self, order: OrderedDoor, now_s: float) -> int | None:
        """Ends what stands, where the kernel can, and counts what is left."""
        if now_s - self._counted_s < _LOOK_EVERY_S and self._connections is not None:
            return self._connections
        self._counted_s = now_s
        try:
            left = client_connections(output_of(self._run, listing(order)), order)
            if left:
                self._run(ending(order))  # a kernel that cannot says so, and the count shows it
                left = client_connections(output_of(self._run, listing(order)), order)
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
            order = OrderedDoor(str(told["pair"]), int(told["epoch"]), DoorAccess(told["state"]), ports, members)
            return KeptOrder(order, str(told["boot_id"]), bool(told["is_barred"]))
        except (ValueError, KeyError, TypeError) as error:
            raise OSError(f"{self._file} cannot be read, and the door stays as it is: {error}") from error

    def _write(self, kept: KeptOrder) -> None:
        told = {**asdict(kept.order), "boot_id": kept.boot_id, "is_barred": kept.is_barred}
        write_durably(self._file, json.dumps(told).encode(), mode=0o600)
        _log.info("the door is to be %s, epoch %d of pair %s", kept.access, kept.order.epoch, kept.order.pair)
