"""The plan's own account of itself: how far from the bounds, how full the disks, what had to be assumed."""

from dataclasses import dataclass
from typing import Literal

BandwidthSource = Literal["measured", "catalogue", "assumed"]


@dataclass(frozen=True, slots=True)
class Certificate:
    """Numbers a person can check. Ratios are value over bound, 1.0 = nothing can beat it; 1.0 when nothing
    moves.

    `bytes_bound` and `eta_bound_s` hold for *any* plan under the same throttles (planner.drain.bounds).
    `disk_max_fraction` is the fullest broker at the worst instant, both copies held. `stayers_moved` counts
    replicas moved that were not on an outgoing broker.
    """

    moves: int
    replicas: int
    bytes: int
    bytes_bound: int
    bytes_ratio: float
    eta_s: float
    eta_bound_s: float
    eta_ratio: float
    rack_violations: int
    stayers_moved: int
    disk_max_fraction: float
    disk_max_broker: int
    bandwidth_source: BandwidthSource
    assumptions: tuple[str, ...]
