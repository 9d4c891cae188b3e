"""What a fixed piece of work takes on this machine now, in this process: by it figures of two machines compare.

Sorting, sums and look-ups in arrays, as the kernels of plans do, on one thread. It is timed before and after a
benchmark, and the mean of both counts: a machine that others share is slower for both.
"""

import statistics
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

ROUNDS = 5
VALUES = 1_000_000


@dataclass(frozen=True, slots=True)
class Calibration:
    """Medians of a few rounds. `wall_s` has what others on the machine took in it, `processor_s` has not."""

    wall_s: float
    processor_s: float

    def ratios(self, after: "Calibration", *, wall_s: float, processor_s: float) -> dict[str, Any]:
        """A benchmark's own seconds in units of this piece of work."""
        wall, processor = (self.wall_s + after.wall_s) / 2, (self.processor_s + after.processor_s) / 2
        return {
            "wall_s": round(wall, 4),
            "processor_s": round(processor, 4),
            "wall_ratio": round(wall_s / wall, 1),
            "processor_ratio": round(processor_s / processor, 1),
        }


def calibrated(rounds: int = ROUNDS, values: int = VALUES) -> Calibration:
    """Times the piece of work."""
    drawn = np.random.default_rng(20_261_129).integers(0, values, values)
    times = [_timed(drawn) for _ in range(rounds)]
    return Calibration(statistics.median(wall for wall, _ in times), statistics.median(taken for _, taken in times))


def _timed(drawn: "np.typing.NDArray[np.int64]") -> tuple[float, float]:
    wall, processor = time.perf_counter(), time.process_time()
    ordered = np.sort(drawn)
    counts = np.bincount(drawn, minlength=drawn.size)
    found = np.searchsorted(ordered, drawn)
    checked = int(np.cumsum(counts)[-1]) == drawn.size and bool((ordered[found] == drawn).all())
    if not checked:
        raise AssertionError("sorted numbers are not found again")
    return time.perf_counter() - wall, time.process_time() - processor
