"""A VM of the local cloud: a directory and a process group. Booted once, cut off at once, gone for good when
destroyed.

The record (`vm.json`, with every tag) is written *before* the process starts, so whatever dies in between,
the next create of the same intent finds the VM by its tag and finishes or adopts it: there is never a second
one.
"""

import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from providers import process, tags
from providers.errors import CloudUnavailable, NoCapacity, ResourceConflict
from providers.local import address, disk, faults, launch
from providers.local.config import Config
from providers.local.image_dir import image_dir
from providers.local.layout import Layout
from providers.local.network import network_of
from providers.local.record import Record, locked, read_record, write_record, write_text
from providers.process import ProcessId
from providers.state import InstanceState

PENDING_FOR = timedelta(seconds=30)
"""A VM that is recorded but was never started counts as being created for this long, then as gone."""

_KILL_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class Machines:
    """The VMs of one region. Each method takes the cluster's lock and may be repeated after a crash at any point."""

    layout: Layout
    config: Config

    def create(self, request: dict[str, Any]) -> None:
        """Boot a VM, or adopt the one this intent made before. A VM that booted and died is not booted again.

        `request` is the `input` of the module's instance. Raises `ResourceConflict` when the key belongs to
        another intent or was terminated, `NoCapacity` by fault switch.
        """
        uid, key = request["cluster_uid"], request["key"]
        with locked(self.layout.lock(uid)):
            self._refuse_foreign_request(request)
            vm_dir = self.layout.vm(uid, key)
            record = read_record(vm_dir / "vm.json")
            if record is None:
                record = self._record(request, vm_dir)
            if record["launched"] is None:
                self._launch(vm_dir, record)

    def destroy(self, request: dict[str, Any]) -> None:
        """Delete exactly that VM: power cut, its disks and addresses released, directory removed, tombstone left."""
        uid, key = request["cluster_uid"], request["key"]
        with locked(self.layout.lock(uid)):
            record = read_record(self.layout.vm(uid, key) / "vm.json")
            if record is not None and record["tags"][tags.INTENT] != request["intent_id"]:
                raise ResourceConflict(
                    f"{key} belongs to intent {record['tags'][tags.INTENT]}, not to {request['intent_id']}"
                )
            if record is not None and self._faults.take("ignored_destroys"):
                return
            self._bury(uid, key, request["intent_id"])

    def terminate(self, cluster_uid: str, key: str, installation_id: str) -> None:
        """The cloud's own terminate, by id alone. Unknown ids are no error; another installation's VM is refused with
        `ResourceConflict`."""
        with locked(self.layout.lock(cluster_uid)):
            record = read_record(self.layout.vm(cluster_uid, key) / "vm.json")
            if record is not None:
                if not tags.owned_by(record["tags"], installation_id):
                    raise ResourceConflict(f"{key} has not this installation's tag; it is not terminated")
                self._bury(cluster_uid, key, record["tags"][tags.INTENT])

    def power_on(self, cluster_uid: str, key: str) -> None:
        """Start a VM again after a power cut, with the same disks: what a host reboot does."""
        with locked(self.layout.lock(cluster_uid)):
            vm_dir = self.layout.vm(cluster_uid, key)
            record = read_record(vm_dir / "vm.json")
            if record is None:
                raise ResourceConflict(f"{key} does not exist, so it cannot be started")
            if not _carriers(vm_dir):
                self._start(vm_dir, record)

    def state(self, cluster_uid: str, key: str, *, now: datetime) -> InstanceState | None:
        """What the cloud says about a VM; None for a key it never heard of."""
        if self.layout.tombstone(cluster_uid, key).exists():
            return InstanceState.GONE
        record = read_record(self.layout.vm(cluster_uid, key) / "vm.json")
        return None if record is None else state_of(record, now=now)

    def is_alive(self, cluster_uid: str, key: str) -> bool:
        """True while the VM runs or may still be starting."""
        return self.state(cluster_uid, key, now=datetime.now(UTC)) in (
            InstanceState.RUNNING,
            InstanceState.PENDING,
        )

    def _record(self, request: dict[str, Any], vm_dir: Path) -> Record:
        if self._faults.vm("no_capacity", vm_dir.name) is not None:
            raise NoCapacity(f"zone {request['zone']} has no room for {vm_dir.name} (fault switch)")
        for folder in ("volumes", "interfaces", "agent", "logs"):
            (vm_dir / folder).mkdir(parents=True, exist_ok=True)
        write_text(vm_dir / "boot.json", request["boot_data"])
        address.show(vm_dir, request["address"], f"instance {vm_dir.name}")
        record: Record = {
            "tags": request["tags"],
            "zone": request["zone"],
            "shape": request["shape"],
            "image": request["image"],
            "address": request["address"],
            "created_at": datetime.now(UTC).isoformat(),
            "launched": None,
        }
        write_record(vm_dir / "vm.json", record)
        return record

    def _launch(self, vm_dir: Path, record: Record) -> None:
        time.sleep(self._faults.vm("slow_create_s", vm_dir.name) or 0.0)
        started = _first_process(vm_dir)
        if started is None:
            self._start(vm_dir, record)
        else:  # we died between starting it and writing that down
            write_record(vm_dir / "vm.json", {**record, "launched": asdict(started)})

    def _start(self, vm_dir: Path, record: Record) -> None:
        network = network_of(record["address"])
        network.open(vm_dir, (record["address"], *address.bound_addresses(vm_dir)))
        kafka_dir = image_dir(self.config.kafka_dir, record["tags"])
        pid = launch.launcher_for(self.config, vm_dir, self._faults, network).launch(
            vm_dir, launch.vm_environment(vm_dir, kafka_dir, network)
        )
        started = process.identify(pid)
        if started is None:
            raise CloudUnavailable(f"{vm_dir.name}: its first process ended at once; see {vm_dir}/logs/console.log")
        write_record(vm_dir / "vm.json", {**record, "launched": asdict(started)})

    def _bury(self, cluster_uid: str, key: str, intent_id: str) -> None:
        vm_dir = self.layout.vm(cluster_uid, key)
        record = read_record(vm_dir / "vm.json")
        power_cut(vm_dir)
        address.NodeAddresses(self.layout).release_all(cluster_uid, key)
        disk.DiskRecords(self.layout, self.config.enforce_disk).release_all(cluster_uid, key)
        buried = {"intent_id": intent_id, "at": datetime.now(UTC).isoformat()}
        if record is not None:
            network_of(record["address"]).close(vm_dir)
        write_record(self.layout.tombstone(cluster_uid, key), buried)
        disk.remove_tree(vm_dir)

    def _refuse_foreign_request(self, request: dict[str, Any]) -> None:
        uid, key, intent = request["cluster_uid"], request["key"], request["intent_id"]
        if self.layout.tombstone(uid, key).exists():
            raise ResourceConflict(f"{key} was terminated; a generation is used once")
        record = read_record(self.layout.vm(uid, key) / "vm.json")
        if record is not None and record["tags"][tags.INTENT] != intent:
            raise ResourceConflict(f"{key} belongs to intent {record['tags'][tags.INTENT]}, not to {intent}")

    @property
    def _faults(self) -> faults.Faults:
        return faults.Faults(self.layout.root)


def state_of(record: Record, *, now: datetime) -> InstanceState:
    """State of a recorded VM: running only when its very first process lives; a zombie does not."""
    launched = record["launched"]
    if launched is None:
        young = now - datetime.fromisoformat(record["created_at"]) < PENDING_FOR
        return InstanceState.PENDING if young else InstanceState.GONE
    return InstanceState.RUNNING if ProcessId(**launched).alive() else InstanceState.GONE


def power_cut(vm_dir: Path) -> int:
    """Kill everything that runs in the VM at once and wait until none is left. Returns how many processes
    that was.

    Raises `CloudUnavailable` when something survives, because a VM that may still write is not gone.
    """
    killed: set[int] = set()

    def nothing_left() -> bool:
        found = _processes(vm_dir)
        killed.update(found)
        process.kill_all(found)
        return not found

    if not process.wait_until(nothing_left, timeout_s=_KILL_TIMEOUT_S):
        raise CloudUnavailable(f"{vm_dir.name}: processes {_processes(vm_dir)} do not die")
    return len(killed)


def _processes(vm_dir: Path) -> tuple[int, ...]:
    """Members of the VM's session, and whatever left it but still carries the VM's environment."""
    record = read_record(vm_dir / "vm.json")
    launched = record["launched"] if record else None
    session = process.in_session(ProcessId(**launched)) if launched else ()
    return tuple({*session, *_carriers(vm_dir)})


def _carriers(vm_dir: Path) -> tuple[int, ...]:
    return tuple(pid for pid, value in process.carrying(launch.VM_DIR).items() if value == str(vm_dir))


def _first_process(vm_dir: Path) -> ProcessId | None:
    """The session leader of a VM that was started but not recorded as such."""
    found = [p for pid in _carriers(vm_dir) if (p := process.identify(pid))]
    leaders = [p for p in found if p.pid in process.in_session(p)]
    return leaders[0] if leaders else None
