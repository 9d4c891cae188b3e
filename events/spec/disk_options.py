"""Types of volumes, their figures and keys: what each cloud sells, and what refuses a disk it does not.

Sources: AWS, EBS volume types, and what hashicorp/aws 5.100.0 takes for `throughput`; Google, Hyperdisk limits for each
disk; Azure, Premium SSD v2 (its MB/s are millions of bytes); UpCloud, storage tiers. Bounds are those of the type, not
of a machine, a size or a region: what is beyond those the cloud refuses itself, when the disk is made.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from events.spec import problems as p
from events.spec.model import Disk, Pool
from events.spec.positions import Positions
from events.spec.problems import Path, Problem
from events.spec.suggestions import did_you_mean

Bounds = tuple[int, int]


@dataclass(frozen=True, slots=True)
class VolumeType:
    """What may be said of a type. None where it takes no such number; `needs_iops`: it takes none for an answer."""

    iops: Bounds | None = None
    throughput_mib_per_s: Bounds | None = None
    needs_iops: bool = False


PLAIN = VolumeType()
OFFERED: Mapping[str, Mapping[str, VolumeType]] = {
    "aws": {
        "gp3": VolumeType((3000, 80_000), (125, 1000)),
        "gp2": PLAIN,
        "io1": VolumeType((100, 64_000), needs_iops=True),
        "io2": VolumeType((100, 256_000), needs_iops=True),
        "st1": PLAIN,
        "sc1": PLAIN,
    },
    "google": {
        "pd-balanced": PLAIN,
        "pd-ssd": PLAIN,
        "pd-standard": PLAIN,
        "pd-extreme": VolumeType((2500, 120_000), needs_iops=True),
        "hyperdisk-balanced": VolumeType((2000, 160_000), (140, 2400)),
        "hyperdisk-extreme": VolumeType((2, 350_000), needs_iops=True),
        "hyperdisk-throughput": VolumeType(None, (10, 2400)),
    },
    "azure": {
        "Premium_LRS": PLAIN,
        "PremiumV2_LRS": VolumeType((3000, 80_000), (120, 1144)),
        "StandardSSD_LRS": PLAIN,
        "Standard_LRS": PLAIN,
    },
    "upcloud": {"maxiops": PLAIN, "standard": PLAIN, "archive": PLAIN},
}
"""By cloud, then by type; the first is what a disk has unless told, and what every disk of before has. The others,
`digitalocean`, `hetzner` and `local`, have volumes of one kind."""

_FIRST = {"aws": "gp3", "google": "pd-balanced", "azure": "Premium_LRS", "upcloud": "maxiops"}

_KEYS: Mapping[str, tuple[str, str]] = {
    "aws": (r"arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]+", "arn:aws:kms:REGION:ACCOUNT:key/ID"),
    "google": (
        r"projects/[^/\s]+/locations/[^/\s]+/keyRings/[^/\s]+/cryptoKeys/[^/\s]+",
        "projects/PROJECT/locations/REGION/keyRings/RING/cryptoKeys/KEY",
    ),
    "azure": (
        r"/subscriptions/[^/\s]+/resourceGroups/[^/\s]+/providers/Microsoft\.Compute/diskEncryptionSets/[^/\s]+",
        "/subscriptions/ID/resourceGroups/GROUP/providers/Microsoft.Compute/diskEncryptionSets/NAME",
    ),
}
_FAULT_DOMAIN = re.compile(r"-fd[0-9]+$")


def type_of(disk: Disk, cloud: str) -> str:
    """The type it will have, "" where volumes of that cloud are of one kind."""
    return disk.type or first_type(cloud)


def first_type(cloud: str) -> str:
    """The type of a volume of which nothing is said, "" where a cloud's are all of one kind."""
    return _FIRST.get(cloud, "")


def option_problems(pool: Pool, path: Path, where: Positions) -> Iterator[Problem]:
    """What refuses the type, the figures or the key of a pool's disks."""
    disk, cloud = pool.disk, pool.place.cloud
    named = [key for key, value in _as_document(disk).items() if value is not None]
    if not named:
        return
    first = (*path, "disk", named[0])
    if disk.kind == "ephemeral":
        message = f"pool `{pool.name}` has `{named[0]}` for disks of kind `ephemeral`, which come with their machine"
        yield where.problem(p.DISK_OPTIONS, first, message, "Leave it away, or write `kind: persistent`.")
    elif cloud not in OFFERED:
        message = f"pool `{pool.name}` has `{named[0]}`, and the volumes of {cloud} are all of one kind"
        yield where.problem(p.DISK_OPTIONS, first, message, f"Leave {_listed(named)} away.")
    else:
        yield from _of_type(pool, path, where)
        yield from _of_key(pool, path, where)


def option_change_problems(before: Pool, after: Pool, path: Path, where: Positions) -> Iterator[Problem]:
    """What refuses other options for a pool that keeps its disks for ever."""
    old, new = _as_document(before.disk), _as_document(after.disk)
    changed = [key for key in new if new[key] != old[key]]
    if not changed or before.disk.kind != after.disk.kind:
        return
    was = {key: old[key] for key in changed}
    message = (
        f"{_listed(changed)} of the disks of pool `{after.name}` would change, and its nodes keep the disks they have: "
        "who votes hands its disk over from VM to VM"
    )
    fix = "; ".join(f"write `{k}: {v}`" if v is not None else f"leave `{k}` away" for k, v in was.items())
    yield where.problem(p.DISK_SHRINKS, (*path, "disk", changed[0]), message, f"{fix[0].upper()}{fix[1:]} again.")


def _of_type(pool: Pool, path: Path, where: Positions) -> Iterator[Problem]:
    disk, cloud = pool.disk, pool.place.cloud
    name, offered = type_of(disk, cloud), OFFERED[cloud]
    known = offered.get(name)
    if known is None:
        message = f"pool `{pool.name}` has disks of type `{name}`, which {cloud} is not known to sell"
        fix = f"{did_you_mean(name, offered)}Choose one of {', '.join(offered)}."
        yield where.problem(p.DISK_OPTIONS, (*path, "disk", "type"), message, fix)
        return
    if name == "PremiumV2_LRS" and any(_FAULT_DOMAIN.search(zone) for zone in pool.place.zones):
        message = f"pool `{pool.name}` has disks of type `{name}`, which azure makes in availability zones alone"
        fix = "Choose another type for pools in fault domains."
        yield where.problem(p.DISK_OPTIONS, (*path, "disk", "type"), message, fix)
    if known.needs_iops and disk.iops is None:
        message = f"pool `{pool.name}` has disks of type `{name}`, which {cloud} makes with a number of `iops` only"
        low, high = known.iops or (1, 1)
        yield where.problem(p.DISK_OPTIONS, (*path, "disk", "type"), message, f"Write `iops`, {low} to {high}.")
    figures = (("iops", disk.iops, known.iops), ("throughputMibPerS", disk.throughput_mib_per_s, _rate(known)))
    for key, value, bounds in figures:
        if value is None:
            continue
        here = (*path, "disk", key)
        if bounds is None:
            able = [other for other, each in offered.items() if (each.iops if key == "iops" else _rate(each))]
            message = f"pool `{pool.name}` has `{key}`, and disks of type `{name}` take no such number on {cloud}"
            fix = f"Use `type: {' or '.join(able)}`, or leave it away." if able else "Leave it away."
            yield where.problem(p.DISK_OPTIONS, here, message, fix)
        elif not bounds[0] <= value <= bounds[1]:
            message = f"`{key}` is {value}, and disks of type `{name}` have {bounds[0]} to {bounds[1]} on {cloud}"
            yield where.problem(p.DISK_OPTIONS, here, message, "Correct the number.")


def _of_key(pool: Pool, path: Path, where: Positions) -> Iterator[Problem]:
    key, cloud = pool.disk.kms_key, pool.place.cloud
    if key is None:
        return
    here = (*path, "disk", "kmsKey")
    if cloud not in _KEYS:
        message = f"pool `{pool.name}` has `kmsKey`, and {cloud} encrypts volumes with keys of its own alone"
        yield where.problem(p.DISK_OPTIONS, here, message, "Leave it away.")
    elif not re.fullmatch(_KEYS[cloud][0], key):
        message = f"pool `{pool.name}` has a `kmsKey` that is not a name of a key on {cloud}"
        yield where.problem(p.DISK_OPTIONS, here, message, f"Write it as `{_KEYS[cloud][1]}`.")


def _rate(known: VolumeType) -> Bounds | None:
    return known.throughput_mib_per_s


def _as_document(disk: Disk) -> dict[str, str | int | None]:
    return {
        "type": disk.type,
        "iops": disk.iops,
        "throughputMibPerS": disk.throughput_mib_per_s,
        "kmsKey": disk.kms_key,
    }


def _listed(keys: list[str]) -> str:
    return " and ".join(f"`{key}`" for key in keys)
