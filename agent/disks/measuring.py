"""How fast a new and empty volume is: written and read past the page cache for a moment, before anything is on it.

A disk that lives on credits is fast for longer than this takes: the figure says what it does at its birth, and whoever
plans by it takes the least of this and of what is published (docs/planning.md).
"""

import json
import logging
import mmap
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from agent.durable import write_durably

_log = logging.getLogger(__name__)

BLOCK_BYTES = 4 * 1024 * 1024
AT_ONCE = 4
"""Requests in hand: one at a time waits for the way to the disk as much as for the disk."""
MOST_BYTES = 1024 * 1024 * 1024
WITHIN_S = 1.0
ROUNDS = 2
"""In each direction, each within that time. The better one counts: what else the host did at that moment does not."""


@dataclass(frozen=True, slots=True)
class VolumeRate:
    """Bytes/s of large requests, one direction at a time."""

    write_bytes_per_s: float
    read_bytes_per_s: float


def measure(mount: Path, *, within_s: float = WITHIN_S, most_bytes: int = MOST_BYTES) -> VolumeRate | None:
    """Takes a file without a name, which is gone with the agent, and an eighth of the volume at most. None where it
    cannot tell: the file system takes no direct writes, or the volume is too small. Raises OSError."""
    about = os.statvfs(mount)
    blocks = min(most_bytes, about.f_bavail * about.f_frsize // 8) // BLOCK_BYTES
    if blocks < AT_ONCE:
        return None
    try:
        file = os.open(mount, os.O_TMPFILE | os.O_RDWR | os.O_DIRECT, 0o600)
    except OSError as error:
        _log.info("the volume at %s is not measured: %s", mount, error)
        return None
    try:
        written = _best_rate(lambda buffer, at: os.pwritev(file, [buffer], at), blocks, within_s)
        there = os.fstat(file).st_size // BLOCK_BYTES
        read = _best_rate(lambda buffer, at: os.preadv(file, [buffer], at), there, within_s)
    finally:
        os.close(file)
    return VolumeRate(written, read)


def keep_rate(file: Path, volume: str, rate: VolumeRate) -> None:
    """Beside the volume's key, for reports. Raises OSError."""
    write_durably(file, json.dumps({"volume": volume, **asdict(rate)}).encode())


def kept_rate(file: Path, volume: str) -> VolumeRate | None:
    """What was measured of just this volume, None where nothing was or that cannot be read."""
    try:
        kept = json.loads(file.read_bytes())
        if kept["volume"] != volume:
            return None
        return VolumeRate(float(kept["write_bytes_per_s"]), float(kept["read_bytes_per_s"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _best_rate(transfer: Callable[[mmap.mmap, int], int], blocks: int, within_s: float) -> float:
    """Bytes/s of the better round."""
    return max(_rate(transfer, blocks, within_s) for _ in range(ROUNDS))


def _rate(transfer: Callable[[mmap.mmap, int], int], blocks: int, within_s: float) -> float:
    """Each block once at most, several at once."""
    began = time.monotonic()

    def every(first: int) -> int:
        buffer, moved = mmap.mmap(-1, BLOCK_BYTES), 0  # on a page's boundary, as direct requests have to be
        buffer.write(os.urandom(BLOCK_BYTES))
        for block in range(first, blocks, AT_ONCE):
            if moved and time.monotonic() - began > within_s:
                break
            moved += transfer(buffer, block * BLOCK_BYTES)
        buffer.close()
        return moved

    with ThreadPoolExecutor(AT_ONCE) as pool:
        moved = sum(pool.map(every, range(AT_ONCE)))
    return moved / max(time.monotonic() - began, 1e-6)
