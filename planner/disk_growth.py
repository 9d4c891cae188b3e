"""When the disks of a pool are to be larger, and how much. Pure.

As users of cloud volumes know it from managed services (Amazon MSK's storage scaling, RDS's): at least a tenth and at
least 10 GiB at a time, one change of a volume in six hours. A step here is large enough to last, since the next one has
to wait: it leaves the fullest disk `HEADROOM` below the threshold.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

HEADROOM = 0.15
"""How far below the threshold, as a share of the disk, the fullest one is after a step."""
LEAST_SHARE = 0.1
LEAST_GIB = 10
ROUND_GIB = 10
"""Sizes are multiples of it, but for the last step, which ends at the bound."""

COOL_DOWN = timedelta(hours=6)
"""Between two changes of one volume: what Amazon EBS asks for. Clouds that ask for less are not changed more often."""
COOL_DOWN_ON: Mapping[str, timedelta] = {"local": timedelta(minutes=10)}
"""Other ones: a disk of the `local` cloud is a directory with a size on record."""


@dataclass(frozen=True, slots=True)
class GrowthPolicy:
    """What a spec says of a pool: `above` is a share of a disk, 0 to 1, `to_gib` the most a disk may have."""

    above: float
    to_gib: int


def cool_down(cloud: str) -> timedelta:
    """How long after a change a volume is left as it is."""
    return COOL_DOWN_ON.get(cloud, COOL_DOWN)


def next_size(gib: int, fullest: float, policy: GrowthPolicy) -> int:
    """GiB each disk is to have where the fullest of them, of `gib` GiB, is full to the share `fullest`. `gib` itself
    where that is not above the threshold, or the bound is reached."""
    if fullest <= policy.above or gib >= policy.to_gib:
        return gib
    lasting = gib * fullest / max(policy.above - HEADROOM, 0.05)
    least = max(gib * (1 + LEAST_SHARE), gib + LEAST_GIB)
    wanted = math.ceil(max(lasting, least) / ROUND_GIB) * ROUND_GIB
    return min(wanted, policy.to_gib)
