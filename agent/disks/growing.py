"""A file system grows with its disk, mounted and in use: the cloud made the disk larger, nobody tells the agent.

`xfs_growfs` takes the mount point and `resize2fs` the device; both find nothing to do on one that fills its disk.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from agent.tools import Tool, output_of

_SECTOR_BYTES = 512
"""What the kernel counts disks in, whatever their own sectors have (Documentation/block/stat.rst)."""


@dataclass(frozen=True, slots=True)
class Mounted:
    """What is mounted at a place: its device, the kind of its file system, and how large the device is now."""

    device: str
    filesystem: str
    device_bytes: int


def mounted_at(mount: Path) -> Mounted | None:
    """What the kernel says is mounted there, None where nothing is, or no disk. Raises OSError."""
    lines = (line.split() for line in Path("/proc/self/mounts").read_text().splitlines())
    here = [(device, kind) for device, where, kind, *_ in lines if where.replace("\\040", " ") == str(mount)]
    if not here or not here[-1][0].startswith("/dev/"):
        return None
    number = os.stat(mount).st_dev
    size = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}/size")
    return Mounted(*here[-1], int(size.read_text()) * _SECTOR_BYTES)


def grow_filesystem(run: Tool, mount: Path, seen: Mounted) -> None:
    """Lets it fill its disk. Raises `ToolFailed`; another kind of file system than the agent makes is left alone."""
    if seen.filesystem == "xfs":
        output_of(run, ("xfs_growfs", str(mount)))
    elif seen.filesystem == "ext4":
        output_of(run, ("resize2fs", seen.device))
