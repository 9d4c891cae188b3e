"""A real file system on a device that lets 16 MiB/s through: what the agent finds it to do while others wait for it."""

import os
import threading
import time
from pathlib import Path

import pytest

from agent.disks.saturation import OVER_S, SaturationWatch
from agent.load import disk_counters
from tests.marks import DISKS_THAT_ARE_SLOWED
from tests.slow_volume import slow_volume

pytestmark = [pytest.mark.soak, pytest.mark.timeout(180), DISKS_THAT_ARE_SLOWED]

MIB = 2**20
RATE = 16 * MIB


def test_a_device_that_is_held_to_a_rate_is_found_at_that_rate(tmp_path: Path) -> None:
    mount, watch, over = tmp_path / "volume", SaturationWatch(enough_s=2 * OVER_S), threading.Event()
    with slow_volume(mount, size_bytes=1024 * MIB, bytes_per_s=RATE):
        device = mount.stat().st_dev
        writer = threading.Thread(target=written, args=(mount / "log", over))
        writer.start()
        try:
            found = watch.limit_bytes_per_s(device)
            while found is None:
                watch.see(time.monotonic(), disk_counters([mount]))
                found = watch.limit_bytes_per_s(device)
                time.sleep(1.0)
        finally:
            over.set()
            writer.join()
    assert found == pytest.approx(RATE, rel=0.1)


def written(file: Path, over: threading.Event) -> None:
    """As Kafka does: into the page cache, over and over, which the kernel writes back."""
    record = os.urandom(MIB)
    with file.open("wb", buffering=0) as log:
        while not over.is_set():
            log.write(record)
            if log.tell() > 256 * MIB:
                log.seek(0)
