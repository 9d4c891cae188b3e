"""What one volume reads and writes together, as its cloud publishes it for type, size and the figures asked for.

A figure is what is sustained: what a volume may do in bursts on credits is not counted. Clouds that publish none
(UpCloud, DigitalOcean, Hetzner), and types whose figure goes by the machine (`pd-extreme`, Hyperdisk without its own),
have none here. Sources: AWS, EBS User Guide, "Amazon EBS volume types" (an operation of an SSD volume counts up to 256
KiB); Google, "About Persistent Disk performance", throughput per GiB and baseline of each disk, shared by reads and
writes; Azure, "Scalability and performance targets for VM disks", Premium SSD by size tier, and "Premium SSD v2".
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from events.instance_facts import PlannedDisk, PlannedVolume
from events.quantities import MIB
from events.spec.disk_options import first_type
from providers.catalog import EPHEMERAL

Published = Callable[[int, int], float | None]
"""(GiB, operations a second that were asked for or 0) -> bytes/s; None where it cannot be said."""

_OPERATION_BYTES = 256 * 1024
_GIB_PER_TIB = 1024


@dataclass(frozen=True, slots=True)
class VolumeLimit:
    """`type`: in the cloud's own words. `asked`: the spec named the figure itself."""

    bytes_per_s: float
    type: str
    asked: bool = False


def volume_limit(cloud: str, volume: PlannedVolume) -> VolumeLimit | None:
    """Of one volume as it was made; None where nobody publishes a figure, and of a machine's own disk."""
    options = volume.options or PlannedDisk()
    name = options.type or first_type(cloud)
    if volume.kind == EPHEMERAL or not name:
        return None
    if options.throughput_mib_per_s:
        return VolumeLimit(float(options.throughput_mib_per_s * MIB), name, asked=True)
    published = _PUBLISHED.get(cloud, {}).get(name)
    rate = published(volume.size_gib, options.iops) if published is not None else None
    return None if rate is None else VolumeLimit(rate, name)


def _gp3(_gib: int, _iops: int) -> float:
    return 125.0 * MIB


def _gp2(gib: int, iops: int) -> float:
    """3 operations a second for each GiB, 100 at least; 250 MiB/s at most."""
    return min(250.0 * MIB, max(100, 3 * gib) * _OPERATION_BYTES)


def _io1(gib: int, iops: int) -> float | None:
    """256 KiB an operation up to 500 MiB/s; beyond 32,000 operations a second 16 KiB each, up to 1,000 MiB/s."""
    if not iops:
        return None
    if iops <= 32_000:
        return min(500.0 * MIB, iops * _OPERATION_BYTES)
    return min(1000.0 * MIB, max(500.0 * MIB, iops * 16 * 1024))


def _io2(gib: int, iops: int) -> float | None:
    return None if not iops else min(4000.0 * MIB, iops * _OPERATION_BYTES)


def _st1(gib: int, iops: int) -> float:
    return min(500.0, 40.0 * gib / _GIB_PER_TIB) * MIB


def _sc1(gib: int, iops: int) -> float:
    return min(192.0, 12.0 * gib / _GIB_PER_TIB) * MIB


def _persistent(per_gib: float, baseline: float) -> Published:
    """1,200 MiB/s is the most of any instance; what a machine reaches goes by its CPUs and is not known here."""
    return lambda gib, _iops: min(1200.0, baseline + per_gib * gib) * MIB


_PREMIUM = (
    (32, 25), (64, 50), (128, 100), (256, 125), (512, 150), (1024, 200), (4096, 250), (8192, 500), (16384, 750),
    (32767, 900),
)  # fmt: skip
"""Most GiB of a tier (P1 to P4, P6, P10, ... P80), and its millions of bytes a second."""


def _premium(gib: int, iops: int) -> float | None:
    return next((rate * 1e6 for most, rate in _PREMIUM if gib <= most), None)


def _premium_v2(_gib: int, _iops: int) -> float:
    return 125e6


_PUBLISHED: Mapping[str, Mapping[str, Published]] = {
    "aws": {"gp3": _gp3, "gp2": _gp2, "io1": _io1, "io2": _io2, "st1": _st1, "sc1": _sc1},
    "google": {
        "pd-balanced": _persistent(0.28, 140.0),
        "pd-ssd": _persistent(0.48, 240.0),
        "pd-standard": _persistent(0.12, 0.0),
    },
    "azure": {"Premium_LRS": _premium, "PremiumV2_LRS": _premium_v2},
}
