"""Volumes as slow as a benchmark needs them: whoever writes is held to the device's rate, not to the page cache's.

The device is held by `providers.local.slow_disk`. A kernel that may keep gigabytes of pages would let writers run away
from it: `strict_limit` of the device's own `bdi` (linux/Documentation/ABI/testing/sysfs-class-bdi) holds them to a few
megabytes. Both need root and control groups of version 1.
"""

import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from providers.harm import CannotHarm
from providers.local.slow_disk import Device, check_limits, devices_of, slow_down

DIRTY_BYTES = 16 * 2**20


def slowed(mounts: Iterable[Path], bytes_per_s: int) -> tuple[Device, ...]:
    """The devices behind these file systems do so much from now on, each way. Raises RuntimeError where this machine
    cannot hold them."""
    devices = devices_of(mounts)
    try:
        check_limits("the benchmark", devices)
    except CannotHarm as error:
        raise RuntimeError(str(error)) from error
    for major, minor in devices:
        kept = Path(f"/sys/class/bdi/{major}:{minor}")
        (kept / "strict_limit").write_text("1")
        (kept / "max_bytes").write_text(str(DIRTY_BYTES))
    slow_down(devices, bytes_per_s)
    return devices


@contextmanager
def slow_volume(mount: Path, *, size_bytes: int, bytes_per_s: int) -> Iterator[None]:
    """A new ext4 on a loop device at `mount`, which is made, for the length of the block. Needs root."""
    image = mount.with_name(f"{mount.name}.img")
    with image.open("wb") as file:
        file.truncate(size_bytes)
    mount.mkdir()
    _run("mkfs.ext4", "-q", "-m", "0", str(image))
    _run("mount", "-o", "loop", str(image), str(mount))
    try:
        devices = slowed([mount], bytes_per_s)
        try:
            yield
        finally:
            slow_down(devices, 0)
    finally:
        _run("umount", "-l", str(mount))
        image.unlink()


def _run(*argv: str) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(argv)}: exit {done.returncode}: {done.stderr.strip()}")
