"""A disk that is slow: the block layer lets only so many bytes a second through to the loop device of a volume.

Set at the root of the `blkio` hierarchy (control groups, version 1), where it holds for whoever reads or writes, also
for the kernel's own writing back of the page cache (linux/Documentation/admin-guide/cgroup-v1/blkio-controller.rst).
Version 2 has no limit for a device as a whole.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from providers.harm import CannotHarm

_BLKIO = Path("/sys/fs/cgroup/blkio")
_LIMITS = ("blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device")

Device = tuple[int, int]
"""Major and minor number."""


def devices_of(mounts: Iterable[Path]) -> tuple[Device, ...]:
    """Block devices behind these mounts; a file system in memory has none."""
    numbers = {mount.stat().st_dev for mount in mounts}
    return tuple(sorted((os.major(n), os.minor(n)) for n in numbers if os.major(n) != 0))


def check_limits(vm: str, devices: Iterable[Device]) -> None:
    """Raises `CannotHarm` where nothing can be slowed down."""
    if not devices:
        raise CannotHarm(f"{vm} has no disk that is a device: what is in memory is never slow")
    if not all((_BLKIO / limit).exists() for limit in _LIMITS):
        raise CannotHarm(
            f"this machine has no {_BLKIO / _LIMITS[0]}: a disk is slowed down by version 1 of control groups "
            "(the kernel's parameter systemd.unified_cgroup_hierarchy=0)"
        )


def slow_down(devices: Iterable[Device], bytes_per_s: int) -> None:
    """At most so many bytes a second from now on, each way. 0: as fast as it is."""
    for major, minor in devices:
        for limit in _LIMITS:
            (_BLKIO / limit).write_text(f"{major}:{minor} {bytes_per_s}")


def limited() -> frozenset[Device]:
    """Devices with a limit."""
    found = set[Device]()
    for limit in _LIMITS:
        if (_BLKIO / limit).exists():
            for line in (_BLKIO / limit).read_text().splitlines():
                major, minor = line.split()[0].split(":")
                found.add((int(major), int(minor)))
    return frozenset(found)
