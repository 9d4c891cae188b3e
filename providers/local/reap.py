"""Cleaning up after a local cloud: nothing of it may outlive the person who ran it, not even after a kill."""

import json
from collections.abc import Callable
from pathlib import Path

from providers import process
from providers.local import disk, launch, machine, namespaces, slow_disk, verbs

_TIMEOUT_S = 10.0


def reap(root: Path) -> int:
    """Kill every process that belongs to the local cloud below `root`; returns how many. Its files stay.

    Processes are known by pid with start time (the VM records) or by the environment they were started
    with, never by name. Provisioners go first: one of them might be about to boot a VM.
    """
    root = root.absolute()
    killed = _kill_until_none(lambda: _provisioners(root))
    killed += sum(machine.power_cut(record.parent) for record in sorted(root.glob("*/instances/*/*/vm.json")))
    killed += _kill_until_none(lambda: _members(root))
    _free_disks(root)
    disk.unmount_all(root)
    namespaces.sweep(root)
    return killed


def _free_disks(root: Path) -> None:
    """A limit belongs to the device and would be there for its next disk. Its own end may have been killed above."""
    slow = slow_disk.limited()
    if slow:
        disks = (path for path in root.glob("*/volumes/*/*/") if path.is_mount())
        slow_disk.slow_down((device for device in slow_disk.devices_of(disks) if device in slow), 0)


def _kill_until_none(find: Callable[[], tuple[int, ...]]) -> int:
    killed: set[int] = set()

    def nothing_left() -> bool:
        found = find()
        killed.update(found)
        process.kill_all(found)
        return not found

    if not process.wait_until(nothing_left, timeout_s=_TIMEOUT_S):
        raise TimeoutError(f"processes {find()} do not die")
    return len(killed)


def _provisioners(root: Path) -> tuple[int, ...]:
    requests = process.carrying(verbs.REQUEST).items()
    return tuple(pid for pid, request in requests if json.loads(request).get("root") == str(root))


def _members(root: Path) -> tuple[int, ...]:
    return tuple(pid for pid, vm in process.carrying(launch.VM_DIR).items() if Path(vm).is_relative_to(root))
