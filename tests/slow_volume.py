"""Volumes as slow as a test needs them: whoever writes is held to the device's rate, not to the page cache's.

The device is held by `providers.local.slow_disk`. A kernel that may keep gigabytes of pages would let writers run away
from it: `strict_limit` of the device's own `bdi` (linux/Documentation/ABI/testing/sysfs-class-bdi) holds them to a few
megabytes. Both need root and control groups of version 1.
"""

import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from providers.harm import CannotHarm
from providers.local.slow_disk import Device, check_limits, devices_of, slow_down

DIRTY_BYTES = 64 * 2**20


def slowed(mounts: Sequence[Path], bytes_per_s: int) -> tuple[Device, ...]:
    """The devices behind these file systems do so much from now on, each way. Raises RuntimeError where this machine
    cannot hold them."""
    devices = devices_of(mounts)
    try:
        check_limits("the test", devices)
    except CannotHarm as error:
        raise RuntimeError(str(error)) from error
    _hold_pages(mounts)
    slow_down(devices, bytes_per_s)
    return devices


@contextmanager
def slow_volume(mount: Path, *, size_bytes: int, bytes_per_s: int) -> Iterator[tuple[Device, ...]]:
    """A new ext4 at `mount`, which is made, for the length of the block, on a device that is slow itself, as fast as it
    is with 0. Yields what can be made slower or faster. Needs root.

    What the block layer holds back does not count as under way on the device it is held from: the slow device is the
    one below, whose file system has the image of this one. So a request waits in this device, as in a disk of a cloud.
    """
    below = mount.with_name(f"{mount.name}.below")
    with _mounted(below, size_bytes + size_bytes // 8), _mounted(mount, size_bytes, inside=below):
        devices = slowed([below], bytes_per_s)
        _hold_pages([mount])
        try:
            yield devices
        finally:
            slow_down(devices, 0)


@contextmanager
def _mounted(mount: Path, size_bytes: int, *, inside: Path | None = None) -> Iterator[None]:
    image = (inside or mount.parent) / f"{mount.name}.img"
    with image.open("wb") as file:
        file.truncate(size_bytes)
    mount.mkdir()
    _run("mkfs.ext4", "-q", "-m", "0", str(image))
    device = _run("losetup", "--find", "--show", "--direct-io=on", str(image))
    try:
        _run("mount", device, str(mount))
        try:
            yield
        finally:
            if mount.is_mount():  # a local cloud unmounts all that is below it when it ends
                _run("umount", "-l", str(mount))
    finally:
        _run("losetup", "--detach", device)
        image.unlink()


def _hold_pages(mounts: Iterable[Path]) -> None:
    for major, minor in devices_of(mounts):
        kept = Path(f"/sys/class/bdi/{major}:{minor}")
        (kept / "strict_limit").write_text("1")
        (kept / "max_bytes").write_text(str(DIRTY_BYTES))


def _run(*argv: str) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(argv)}: exit {done.returncode}: {done.stderr.strip()}")
    return done.stdout.strip()
