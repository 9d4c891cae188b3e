"""How far moves were slowed for the sake of clients: part of a cluster's stream, see `facts`."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from events.registry import fact


@fact("brake.armed", schema=1)
@dataclass(frozen=True, slots=True)
class BrakeArmed:
    """Moves of `batch` (a drain, a rebalance, a batch of replicas) are about to begin. `before`: by broker id and name
    of the figure, what agents told at `at`, when nothing had moved for a while; figures nobody told are missing.
    `share` (0 to 1) of the planned rate is what they begin with, below 1 for `reason`."""

    batch: str
    before: Mapping[str, Mapping[str, float]]
    at: datetime
    share: float = 1.0
    reason: str = ""


@fact("brake.changed", schema=1)
@dataclass(frozen=True, slots=True)
class BrakeChanged:
    """From now on moves of `batch` go at `share` (0 to 1) of the rate that was planned. `figure` of `broker` is why,
    in words with numbers `reason`; "" and -1 where it is let go. `planned_bytes_per_s`: what the broker that takes most
    may take by the plan; 0: not known."""

    batch: str
    share: float
    figure: str
    broker: int
    reason: str
    planned_bytes_per_s: int = 0
