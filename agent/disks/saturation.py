"""What a volume does at most, as it is found at work: bytes/s of the times in which it was all that others waited for.

A volume counts as saturated while it is busy without a break, many requests wait for it, and they are large: a few slow
ones are no proof (a network's volume answers several at once), and of small ones its operations are the limit, not its
bytes. What is read and written past a limit is refused by nobody; it waits (Documentation/block/stat.rst).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

OVER_S = 15.0
"""Length of a stretch, at least: shorter ones are a burst of the page cache."""

KEPT_S = 3600.0
"""Older stretches say nothing any more."""

ENOUGH_S = 300.0
"""Saturated so long in all before anything is said: a disk that lives on credits is fast for a while."""

BUSY, FEWEST_IN_FLIGHT, LEAST_REQUEST_BYTES = 0.95, 4.0, 64 * 1024


@dataclass(frozen=True, slots=True)
class DiskCounters:
    """Of one block device since the machine began: requests that ended, the bytes of these, the time they took together
    (ms), and the time in which any was under way (ms)."""

    finished: int
    moved_bytes: int
    waited_ms: int
    busy_ms: int


@dataclass(slots=True)
class SaturationWatch:
    """Remembers the saturated stretches of some devices, by device number."""

    enough_s: float = ENOUGH_S
    _begun: dict[int, tuple[float, DiskCounters]] = field(default_factory=dict)
    _stretches: dict[int, list[tuple[float, float, float]]] = field(default_factory=dict)
    """(when it ended, its seconds, its bytes/s) each."""

    def see(self, at_s: float, disks: Mapping[int, DiskCounters]) -> None:
        """One look. A device that is gone, or began anew, is forgotten."""
        for device in [d for d in self._begun if d not in disks]:
            del self._begun[device]
            self._stretches.pop(device, None)
        for device, now in disks.items():
            began_s, before = self._begun.setdefault(device, (at_s, now))
            took_s = at_s - began_s
            if now.finished < before.finished or now.moved_bytes < before.moved_bytes:
                self._stretches.pop(device, None)
            elif took_s < OVER_S:
                continue
            elif _is_saturated(before, now, took_s):
                rate = (now.moved_bytes - before.moved_bytes) / took_s
                self._stretches.setdefault(device, []).append((at_s, took_s, rate))
            self._begun[device] = at_s, now
        for device, known in self._stretches.items():
            self._stretches[device] = [s for s in known if at_s - s[0] <= KEPT_S]

    def limit_bytes_per_s(self, device: int) -> float | None:
        """The most it did in any of them, once there are enough; None while nobody knows."""
        known = self._stretches.get(device, [])
        if sum(seconds for _, seconds, _ in known) < self.enough_s:
            return None
        return max(rate for _, _, rate in known)


def _is_saturated(before: DiskCounters, now: DiskCounters, took_s: float) -> bool:
    finished, elapsed_ms = now.finished - before.finished, took_s * 1000
    return (
        finished > 0
        and now.busy_ms - before.busy_ms >= BUSY * elapsed_ms
        and now.waited_ms - before.waited_ms >= FEWEST_IN_FLIGHT * elapsed_ms
        and now.moved_bytes - before.moved_bytes >= LEAST_REQUEST_BYTES * finished
    )
