"""Boot ids: one per boot of the VM, and sortable, so that (boot id, seq) orders all reports of a VM."""

import secrets
import time
from pathlib import Path

from agent.durable import write_durably


def next_boot_id(state: Path) -> str:
    """Counts the boot on disk. `<counter, 8 digits>-<random>`: sorts by boot, and differs if the counter is lost."""
    counter_file = state / "boots"
    try:
        counter = int(counter_file.read_text()) + 1
    except (FileNotFoundError, ValueError):
        counter = 1
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_durably(counter_file, str(counter).encode())
    return f"{counter:08d}-{secrets.token_hex(4)}"


def boot_id_of(state: Path, kernel_boot_id: str) -> str:
    """The boot id of a machine whose kernel says which boot this is: an agent that is restarted within one keeps it."""
    kept = state / "boot"
    try:
        kernel, _, known = kept.read_text().partition(" ")
    except FileNotFoundError:
        kernel, known = "", ""
    if kernel == kernel_boot_id and known:
        return known
    fresh = next_boot_id(state)
    write_durably(kept, f"{kernel_boot_id} {fresh}".encode())
    return fresh


class Sequence:
    """Report numbers. They start at milliseconds since the machine started, not at 1: an agent that is restarted within
    one boot keeps the boot id, and its reports must still sort after those of the agent before it."""

    def __init__(self) -> None:
        self._last = 0

    def next(self) -> int:
        self._last = max(self._last + 1, int(time.clock_gettime(time.CLOCK_BOOTTIME) * 1000))
        return self._last
