"""The block devices of the VM as lsblk lists them, and what is written on them as blkid reads it from the disk itself.

lsblk's own idea of a filesystem comes from udev's memory, which can be older than the disk; `blkid --probe` reads.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from agent.tools import Tool, ToolFailed, output_of

_NOTHING_FOUND = 2
"""blkid(8): "if the specified device was not identified, or nothing was found on it"."""
_DISKS = frozenset({"disk", "loop"})

Content = Literal["blank", "filesystem", "other", "unreadable"]


@dataclass(frozen=True, slots=True)
class BlockDevice:
    """A whole disk. `uuid` is its filesystem's, "" without one; `mounts` are where it or a part of it is mounted."""

    path: str
    size_bytes: int
    content: Content
    uuid: str = ""
    mounts: tuple[str, ...] = ()
    what: str = ""
    """What was found on it, in words."""


def block_devices(run: Tool, *, is_there: Callable[[str], bool] = os.path.exists) -> list[BlockDevice]:
    """Every disk of the VM that has a device file and a size. Raises `ToolFailed` when lsblk does not answer."""
    listed = output_of(run, ("lsblk", "--json", "--bytes", "--paths", "--output", "PATH,TYPE,SIZE,RO,MOUNTPOINTS"))
    try:
        disks = [d for d in json.loads(listed)["blockdevices"] if d["type"] in _DISKS]
        return [_device(d, run) for d in disks if int(d["size"] or 0) > 0 and is_there(d["path"])]
    except (ValueError, KeyError, TypeError) as error:
        raise ToolFailed(f"lsblk answered something else than expected: {error!r}") from None


def _device(disk: Mapping[str, Any], run: Tool) -> BlockDevice:
    path, size = str(disk["path"]), int(disk["size"])
    mounts = tuple(m for part in _parts(disk) for m in part.get("mountpoints") or () if m)
    if disk.get("children"):
        return BlockDevice(path, size, "other", mounts=mounts, what="partitions")
    if disk.get("ro"):
        return BlockDevice(path, size, "other", mounts=mounts, what="a disk that cannot be written")
    return _probed(path, size, mounts, run)


def _parts(disk: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield disk
    for child in disk.get("children") or ():
        yield from _parts(child)


def _probed(path: str, size: int, mounts: tuple[str, ...], run: Tool) -> BlockDevice:
    try:
        answer = run(("blkid", "--probe", "--output", "export", path))
    except ToolFailed as error:
        return BlockDevice(path, size, "unreadable", mounts=mounts, what=str(error))
    if answer.code == _NOTHING_FOUND and not answer.err.strip():
        return BlockDevice(path, size, "blank", mounts=mounts, what="nothing")
    if answer.code != 0:
        words = " ".join(answer.err.split()) or f"exit code {answer.code}"
        return BlockDevice(path, size, "unreadable", mounts=mounts, what=f"blkid says: {words}")
    found = dict(line.partition("=")[::2] for line in answer.out.splitlines() if "=" in line)
    if found.get("USAGE") == "filesystem" and "UUID" in found:
        return BlockDevice(path, size, "filesystem", found["UUID"], mounts, f"{found.get('TYPE', 'a filesystem')}")
    return BlockDevice(path, size, "other", mounts=mounts, what=found.get("TYPE") or found.get("PTTYPE") or "something")
