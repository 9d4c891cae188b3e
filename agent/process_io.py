"""What a process has read from disks and written to them since it began, by Linux: proc(5), `/proc/PID/io`."""

from collections.abc import Mapping
from pathlib import Path

_PROC = Path("/proc")
_FIELDS = {"read_bytes": "disk_read", "write_bytes": "disk_written"}
"""Bytes that really went to or came from the storage layer; written ones are counted as pages become dirty."""


def disk_bytes(pid: int, *, proc: Path = _PROC) -> Mapping[str, float]:
    """Counters `disk_read` and `disk_written`; empty where the process is gone, or the kernel does not say."""
    try:
        text = (proc / str(pid) / "io").read_text()
    except OSError:
        return {}
    pairs = (line.split(":", 1) for line in text.splitlines() if ":" in line)
    told = {name: value.strip() for name, value in pairs}
    return {mine: float(told[name]) for name, mine in _FIELDS.items() if told.get(name, "").isdigit()}
