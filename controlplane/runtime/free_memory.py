"""Memory that programs of this machine can have without swapping."""

from pathlib import Path

MEMINFO = Path("/proc/meminfo")


def free_gib(told: Path = MEMINFO) -> float | None:
    """None where the kernel does not tell."""
    lines = told.read_text().splitlines() if told.exists() else []
    kib = (int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    return next((one / 1024**2 for one in kib), None)
