"""How a broker's clients fare in these seconds: from counters since its start to figures of the last 15 s.

Kafka's p99 is of a reservoir that forgets over minutes, so the mean of the last seconds goes with it: it tells whether
the p99 is of now. How busy disks are is Linux's own word (Documentation/block/stat.rst).
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agent.disks.saturation import DiskCounters
from agent.metrics import Metric

OVER_S = 15.0
"""What figures are over, at least: one look at a disk says nothing."""

_MOST_S = 60.0
"""Looks further apart say nothing of now."""

FEWEST_REQUESTS = 10
"""Fewer produce requests in that time say nothing of how long one takes."""

_PRODUCE = "kafka.network:type=RequestMetrics,name=TotalTimeMs,request=Produce"
P99 = Metric("produce_p99_ms", _PRODUCE, "99thPercentile")
REQUESTS = Metric("produce_requests_total", _PRODUCE, "Count")
MEAN_EVER = Metric("produce_mean_ever_ms", _PRODUCE, "Mean")
QUEUE = Metric("request_queue", "kafka.network:type=RequestChannel,name=RequestQueueSize")

LOAD = (P99, REQUESTS, MEAN_EVER, QUEUE)
"""What is read of a broker for it; `TotalTimeMs` is what clients wait, replication with it."""

_BLOCK = Path("/sys/dev/block")
_FINISHED, _SECTORS, _WAITED_MS, _BUSY_MS = (0, 4), (2, 6), (3, 7), 9
"""Fields of `stat`: reads and writes that ended, sectors of each kind, how long each took together, how long any was
under way."""

_SECTOR_BYTES = 512
"""Whatever those of the device are."""


@dataclass(frozen=True, slots=True)
class LoadCounters:
    """One look. `disks` by device number."""

    at_s: float
    pid: int
    requests: float | None
    mean_ever_ms: float | None
    disks: Mapping[int, DiskCounters] = field(default_factory=dict)


class RecentLoad:
    """Remembers the looks at one broker of the last seconds."""

    def __init__(self) -> None:
        self._before: list[LoadCounters] = []

    def figures(self, now: LoadCounters, read: Mapping[str, float]) -> dict[str, float]:
        """`read`, what Kafka tells, without what is of no use by itself and with the figures of the last seconds. What
        is not known is left out; a p99 is where nobody has produced."""
        self._before = [b for b in self._before if b.pid == now.pid and now.at_s - b.at_s <= _MOST_S]
        before = next((b for b in reversed(self._before) if now.at_s - b.at_s >= OVER_S), None)
        self._before.append(now)
        found = {name: value for name, value in read.items() if name not in (MEAN_EVER.name, P99.name)}
        if before is None:
            return found
        mean_ms = _mean_ms(before, now)
        if mean_ms is not None:
            found["produce_mean_ms"] = mean_ms
            if P99.name in read:
                found[P99.name] = read[P99.name]
        return found | _disks(before, now)


def disk_counters(directories: Iterable[Path], *, block: Path = _BLOCK) -> dict[int, DiskCounters]:
    """Of the disks these are on, by device number; one the kernel does not count (an overlay, a RAM disk) is left
    out."""
    found = {}
    for directory in directories:
        try:
            device = directory.stat().st_dev
            fields = [int(n) for n in (block / f"{os.major(device)}:{os.minor(device)}" / "stat").read_text().split()]
        except (OSError, ValueError):
            continue
        if len(fields) > _BUSY_MS:
            ended, sectors, waited = (sum(fields[n] for n in pair) for pair in (_FINISHED, _SECTORS, _WAITED_MS))
            found[device] = DiskCounters(ended, sectors * _SECTOR_BYTES, waited, fields[_BUSY_MS])
    return found


def _mean_ms(before: LoadCounters, now: LoadCounters) -> float | None:
    """Kafka's own mean is over all requests ever, so what they took together is it times their number."""
    if None in (before.requests, now.requests, before.mean_ever_ms, now.mean_ever_ms):
        return None
    requests = (now.requests or 0.0) - (before.requests or 0.0)
    if requests < FEWEST_REQUESTS:
        return None
    return max(0.0, (_took_ms(now) - _took_ms(before)) / requests)


def _took_ms(look: LoadCounters) -> float:
    return (look.requests or 0.0) * (look.mean_ever_ms or 0.0)


def _disks(before: LoadCounters, now: LoadCounters) -> dict[str, float]:
    """The busiest disk: the share of the time it was at work, and how long a request took."""
    elapsed_ms = (now.at_s - before.at_s) * 1000
    pairs = [(before.disks[d], disk) for d, disk in now.disks.items() if d in before.disks]
    loads = [
        (min(1.0, (b.busy_ms - a.busy_ms) / elapsed_ms), (b.waited_ms - a.waited_ms) / max(1, b.finished - a.finished))
        for a, b in pairs
        if b.busy_ms >= a.busy_ms and b.waited_ms >= a.waited_ms and b.finished >= a.finished
    ]
    if not loads:
        return {}
    busy, wait_ms = max(loads)
    return {"disk_busy": busy, "disk_wait_ms": wait_ms}
