"""Conditions under which tests run that are the same in several rooms."""

import os
import shutil
from pathlib import Path

import pytest

A_NETWORK_FOR_EACH_VM = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("ip") is None, reason="a network for each VM needs root and `ip`"
)

DISKS_THAT_ARE_SLOWED = pytest.mark.skipif(
    os.geteuid() != 0 or not Path("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device").exists(),
    reason="slow disks need root and version 1 of control groups",
)
