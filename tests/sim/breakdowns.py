"""Brokers of the simulator that are there and serve nobody: frozen, ending again and again, or on a silent VM."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.sim.vms import Process, Vm

if TYPE_CHECKING:
    from tests.sim.services import Services

_LONGEST_PAUSE_S = 60.0

UNKNOWABLE = "when it was asked for nobody could know of"


@dataclass(slots=True)
class Breakdowns:
    """By VM, what is wrong with the broker on it."""

    frozen: dict[str, Process] = field(default_factory=dict)
    """Their process is there and does nothing: the controllers fence it once its session has ended."""
    looping: set[str] = field(default_factory=set)
    exits: dict[str, int] = field(default_factory=dict)
    """How often their process ended, ever."""
    held_until: dict[str, float] = field(default_factory=dict)
    sessions: dict[int, float] = field(default_factory=dict)
    """By broker that froze, until when Kafka calls it alive."""
    blind: dict[str, int] = field(default_factory=dict)
    """By VM that was told to stop its broker: beside which other one, of which nobody could know."""
    warned: dict[int, float] = field(default_factory=dict)
    """By broker whose cloud takes its VM back, until when no server has heard of it."""

    def freeze(self, machines: "Services", key: str, *, silent: bool = False) -> None:
        """SIGSTOP, and where it is `silent` nobody hears the agent either: the VM is split off from everybody. Kafka
        calls it alive until its session ends."""
        vm = machines.vms[key]
        if vm.process is None or not vm.process.up or vm.process.document.name != "broker":
            raise LookupError(f"{key} runs no broker")
        self.frozen[key] = vm.process
        broker = vm.process.document.node_id
        machines.kafka.kill_broker(broker)
        self.sessions[broker] = machines.seconds + machines.kafka.migration.session_s
        vm.deaf = vm.deaf or silent

    def thaw(self, machines: "Services", key: str) -> None:
        """It goes on, where that very process is still there."""
        process, vm = self.frozen.pop(key, None), machines.vms.get(key)
        if vm is None:
            return
        vm.deaf = False
        if process is not None:
            self.sessions.pop(process.document.node_id, None)
        if process is not None and vm.process is process and vm.alive:
            machines.kafka.start_broker(process.document.node_id)

    def loop(self, machines: "Services", key: str) -> None:
        """Its process ends, and so does each one its agent starts."""
        self.looping.add(key)
        self.exits[key] = self.exits.get(key, 0) + 1
        machines.stop_process(key)

    def told_to_stop(self, keys: Iterable[str], now_s: float) -> None:
        """The server has just asked for it, or for it again."""
        unknown = [broker for known in (self.sessions, self.warned) for broker, until in known.items() if now_s < until]
        for key in keys:
            self.blind.pop(key, None)
            if unknown:
                self.blind[key] = unknown[0]

    def cause_of_stop(self, key: str, broker: int) -> str:
        """What partitions fall below their min ISR by, where its broker stops as it was told; "" is its stop alone."""
        other = self.blind.pop(key, broker)
        return "" if other == broker else f"stopping broker {broker}: {UNKNOWABLE} broker {other}"

    def ends(self, vm: Vm, process: Process, now_s: float) -> bool:
        """Whether a process that would be up by now ends instead."""
        if vm.key not in self.looping or process is not vm.process:
            return False
        self.exits[vm.key] += 1
        self.held_until[vm.key] = now_s + min(_LONGEST_PAUSE_S, 2.0 ** self.exits[vm.key])
        vm.process = None
        return True

    def holds(self, vm: Vm, now_s: float) -> bool:
        """Whether its agent waits before it starts it again."""
        return vm.key in self.looping and now_s < self.held_until.get(vm.key, 0.0)
