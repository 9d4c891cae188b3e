"""Brokers of the simulator that come back as others than they should be: in another rack, by another id, with another
release, or not at all, since their disk says it is somebody else's."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from agent.wire import ServiceDocument, ServiceReport
from tests.sim.vms import Illness, Vm

if TYPE_CHECKING:
    from tests.sim.services import Services

SOMEBODY = 1999
"""Whose id is found on a disk, or answers in place of the right one."""

TOLD_AFTER_S = 5.0
"""An agent believes who a process is once two looks in a row say the same."""


@dataclass(frozen=True, slots=True)
class Guise:
    """As what the broker of a VM starts from now on. Empty fields are as they should be."""

    rack: str = ""
    version: str = ""
    other_id: bool = False
    """Its process runs as another broker: Kafka has none by its own id."""
    other_disk: bool = False
    """Its agent finds another broker's id on the disk, and starts nothing on it."""


@dataclass(slots=True)
class WrongIdentities:
    """By VM, what is strange about the broker on it."""

    guises: dict[str, Guise] = field(default_factory=dict)
    worn: dict[str, Guise] = field(default_factory=dict)
    """By VM, how the process that runs there came up."""

    def starts(self, machines: "Services", vm: Vm, service: ServiceDocument, at: datetime) -> None:
        """A broker that was there before comes up, as what it is now."""
        guise = self.worn[vm.key] = self.guises.get(vm.key, Guise())
        if guise.version or guise.other_id:
            told_at, node = at + timedelta(seconds=TOLD_AFTER_S), SOMEBODY if guise.other_id else service.node_id
            machines.illnesses[vm.service_key(service)] = Illness("wrong_identity", told_at, node=node)
        if not guise.other_id:
            version, rack = guise.version or service.kafka_version, guise.rack or service.rack
            machines.kafka.start_broker(service.node_id, version=version, rack=rack)

    def refuses(self, vm: Vm, service: ServiceDocument) -> bool:
        """Whether its agent starts nothing there."""
        guise = self.guises.get(vm.key)
        return guise is not None and guise.other_disk and service.name == "broker"

    def report(self, service: ServiceDocument, at: datetime) -> ServiceReport:
        """What an agent says of a disk that is somebody else's."""
        volume = service.log_dirs[0].volume
        said = f"volume {volume} belongs to somebody else: node.id is '{SOMEBODY}', should be '{service.node_id}'"
        return ServiceReport(
            name=service.name,
            state="failed",
            start_id=service.start_id,
            node_id=service.node_id,
            since=at,
            message=said,
        )

    def among(self, vms: dict[str, Vm]) -> list[str]:
        """VMs whose broker is another than it should be, or would be at its next start."""
        there = {k for k, guise in (*self.worn.items(), *self.guises.items()) if guise != Guise()}
        return sorted(k for k in there if k in vms and vms[k].alive)
