"""Disks that grow where they are: part of a cluster's stream, see `facts`."""

from collections.abc import Mapping
from dataclasses import dataclass

from events.registry import fact


@fact("growth.requested", schema=1)
@dataclass(frozen=True, slots=True)
class GrowthRequested:
    """These disks of one instance, by volume key, are to have so many GiB. The service on them runs on."""

    intent: str
    key: str
    sizes: Mapping[str, int]
    reason: str


@fact("growth.completed", schema=1)
@dataclass(frozen=True, slots=True)
class GrowthCompleted:
    """The cloud shows the new sizes, and the agent a file system of that size."""

    intent: str


@fact("volume.limit_found", schema=1)
@dataclass(frozen=True, slots=True)
class VolumeLimitFound:
    """Saturated at work, the volume (by key) read and wrote so much together at most. 0: it has not been saturated for
    so long that it is not known any more."""

    volume: str
    bytes_per_s: int


@fact("growth.decided", schema=1)
@dataclass(frozen=True, slots=True)
class GrowthDecided:
    """Every disk of this pool is to have `size_gib` from now on, where it has `before_gib`: brokers of it are fuller
    than the spec's `disk.grow.above`. The spec's own `sizeGib` is a floor below it for as long as the pool is there."""

    pool: str
    before_gib: int
    size_gib: int
    reason: str
