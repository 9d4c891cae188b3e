"""Fault switches of the local cloud, for tests: a JSON file in its root, read by every verb and every
listing.

Switches about VMs map an instance key (or a pattern such as `*.g2`) to a value; the others are counters that
each call takes one off.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from providers.local.record import locked, read_record, write_record

VmSwitch = Literal["never_boots", "boots_late_s", "dies_after_s", "slow_create_s", "no_capacity", "maintenance_at_s"]
Counter = Literal["api_errors", "rate_limits", "list_lag", "ignored_destroys"]


@dataclass(frozen=True, slots=True)
class Faults:
    """The switches of one local cloud.

    - `never_boots`: the VM runs, its agent never starts. `boots_late_s`, `dies_after_s`: seconds.
    - `slow_create_s`: seconds between the record of a VM and its start. `no_capacity`: creating it fails.
    - `maintenance_at_s`: the cloud announces that the VM's host goes down then, in seconds since 1970 (UTC).
    - `api_errors`, `rate_limits`: the next n calls fail. `list_lag`: the next n listings repeat the last one.
    - `ignored_destroys`: the next n destroys by Terraform report success and leave the VM running.
    """

    root: Path

    def set_vm(self, switch: VmSwitch, values: Mapping[str, float]) -> None:
        """Replace the patterns of one VM switch."""
        self._change({switch: dict(values)})

    def set_counter(self, switch: Counter, count: int) -> None:
        self._change({switch: count})

    def clear(self) -> None:
        self._path.unlink(missing_ok=True)

    def vm(self, switch: VmSwitch, key: str) -> float | None:
        """Value of a VM switch for an instance key, None when it is off."""
        patterns = (read_record(self._path) or {}).get(switch, {})
        return next((float(value) for pattern, value in patterns.items() if fnmatchcase(key, pattern)), None)

    def take(self, switch: Counter) -> bool:
        """Take one off a counter; False when it was at zero."""
        if not (read_record(self._path) or {}).get(switch, 0):
            return False
        with locked(self._lock):
            record = read_record(self._path) or {}
            left = int(record.get(switch, 0))
            if left > 0:
                write_record(self._path, {**record, switch: left - 1})
            return left > 0

    def _change(self, values: Mapping[str, object]) -> None:
        with locked(self._lock):
            write_record(self._path, {**(read_record(self._path) or {}), **values})

    @property
    def _path(self) -> Path:
        return self.root / "faults.json"

    @property
    def _lock(self) -> Path:
        return self.root / "faults.lock"
