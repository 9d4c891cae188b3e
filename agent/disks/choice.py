"""Which disk is which volume, and whether one may be given a filesystem. Pure.

A volume's filesystem has a UUID that follows from cluster and volume key, so a disk says itself which volume it is,
whatever the cloud calls its device. A filesystem is made only for a volume that the document calls fresh, on a disk
that was read and has nothing on it. Anything that cannot be told apart is left alone. Several new volumes of one size
are alike while they are blank: which disk becomes which of them makes no difference, as long as there are as many.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from agent.disks.devices import BlockDevice
from agent.wire import LogDir

_NAMESPACE = uuid.UUID("0b6b6b1e-5f0f-5d57-9e6c-6b6564676576")
_GIB = 2**30
_SMALLER, _LARGER = 0.92, 1.1
"""A disk of N GiB: clouds that count in GB give 7 % less, others round up."""


@dataclass(frozen=True, slots=True)
class MountDisk:
    """This disk is the volume."""

    path: str


@dataclass(frozen=True, slots=True)
class MakeFilesystem:
    """This disk is blank, and can be the new volume: no blank disk of its size is left that could be anybody else's."""

    path: str


@dataclass(frozen=True, slots=True)
class NotThere:
    """Nothing that could be the volume is attached (yet)."""

    reason: str


@dataclass(frozen=True, slots=True)
class CannotTell:
    """Going on would be a guess on somebody's data."""

    reason: str


Choice: TypeAlias = MountDisk | MakeFilesystem | NotThere | CannotTell


def filesystem_uuid(cluster_uid: str, volume: str) -> str:
    """The UUID of a volume's filesystem, lower case with dashes."""
    return str(uuid.uuid5(_NAMESPACE, f"{cluster_uid}/{volume}"))


def choose(
    log_dir: LogDir, *, cluster_uid: str, devices: Sequence[BlockDevice], others: Sequence[LogDir] = ()
) -> Choice:
    """What to do for a volume that is not mounted where it should be. `others` are the VM's other volumes."""
    wanted = filesystem_uuid(cluster_uid, log_dir.volume)
    own = [d for d in devices if d.content == "filesystem" and d.uuid == wanted]
    if len(own) > 1:
        paths = ", ".join(d.path for d in own)
        return CannotTell(f"volume {log_dir.volume}: {paths} all say they are it; one is a copy, detach that one")
    if own:
        return _mount(log_dir, own[0])
    if not log_dir.fresh:
        return NotThere(
            f"volume {log_dir.volume} is not attached: no disk has its filesystem; there: {_listed(devices)}"
        )
    made = {d.uuid for d in devices if d.content == "filesystem"}
    alike = {d.volume for d in others if d.fresh and d.size_gib == log_dir.size_gib}
    unmade = {v for v in alike if filesystem_uuid(cluster_uid, v) not in made}
    return _make(log_dir, devices, sorted({log_dir.volume, *unmade}))


def _mount(log_dir: LogDir, device: BlockDevice) -> Choice:
    if device.mounts:
        return CannotTell(f"volume {log_dir.volume}: {device.path} is mounted at {', '.join(device.mounts)} already")
    return MountDisk(device.path)


def _make(log_dir: LogDir, devices: Sequence[BlockDevice], alike: Sequence[str]) -> Choice:
    """`alike` are the new volumes of its size that have no filesystem yet, itself among them."""
    unreadable = [f"{d.path} ({d.what})" for d in devices if d.content == "unreadable"]
    if unreadable:
        return CannotTell(
            f"volume {log_dir.volume} is new, but {', '.join(unreadable)} cannot be read; nothing is made"
        )
    blank = [d for d in devices if d.content == "blank" and not d.mounts and _fits(log_dir, d)]
    if not blank:
        size = f" of {log_dir.size_gib} GiB" if log_dir.size_gib else ""
        return NotThere(f"volume {log_dir.volume} is new: no blank disk{size} is attached; there: {_listed(devices)}")
    paths = sorted(d.path for d in blank)
    if len(blank) < len(alike):
        missing = f"{len(alike)} new volumes like it, and {len(blank)} blank disks so far ({', '.join(paths)})"
        return NotThere(f"volume {log_dir.volume} is new: there are to be {missing}")
    if len(blank) > len(alike):
        which = f"could be any of {', '.join(paths)}"
        return CannotTell(f"volume {log_dir.volume} is new and {which}; nothing is made on a guess")
    return MakeFilesystem(paths[alike.index(log_dir.volume)])


def _fits(log_dir: LogDir, device: BlockDevice) -> bool:
    wanted = log_dir.size_gib * _GIB
    return not wanted or _SMALLER * wanted <= device.size_bytes <= _LARGER * wanted


def _listed(devices: Sequence[BlockDevice]) -> str:
    return ", ".join(f"{d.path} {d.size_bytes / _GIB:.1f} GiB with {d.what}" for d in devices) or "no disk"
