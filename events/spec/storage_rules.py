"""What becomes of a changed disk: grown where it is, left behind by a roll, or refused."""

from collections.abc import Iterator

from events.spec import problems as p
from events.spec.disk_options import option_change_problems
from events.spec.model import Disk, Pool
from events.spec.positions import Positions
from events.spec.problems import Path, Problem

GROWS_IN_PLACE = frozenset({"local", "aws", "google", "digitalocean", "hetzner"})
"""Clouds that make an attached disk larger under a running service. Azure's Terraform provider may stop the VM for it
(`azurerm_managed_disk`, unless the VM's size and disk allow otherwise), UpCloud does it to stopped servers only: there
a larger disk means a new VM. The modules of these clouds say how (`terraform/README.md`, grow)."""

OWN_DISKS_ON_ROOT = frozenset({"digitalocean", "upcloud", "hetzner"})
"""Clouds whose VMs have no own disk but the one they boot from: a second directory there is no second disk."""


def grows_in_place(pool: Pool) -> bool:
    """Whether the disks of a pool can become larger without a new VM."""
    return pool.disk.kind == "persistent" and pool.place.cloud in GROWS_IN_PLACE


def disks_in_words(disk: Disk) -> str:
    """`100 GiB`, or `2 x 100 GiB` where there are several."""
    return f"{disk.size_gib} GiB" if disk.count == 1 else f"{disk.count} x {disk.size_gib} GiB"


def disk_problems(before: Pool, after: Pool, path: Path, where: Positions) -> Iterator[Problem]:
    """What refuses the step from one disk of a pool that stays to another. Brokers change disks by moving to new VMs;
    who votes keeps its disk for ever, so that may only grow, and only where it is."""
    if after.is_quorum and not after.is_broker:
        yield from option_change_problems(before, after, path, where)
    old, new = before.disk.size_gib, after.disk.size_gib
    if not after.is_quorum or after.is_broker or old == new:
        return
    size = (*path, "disk", "sizeGib")
    if new < old:
        message = f"the disk of pool `{after.name}` has {old} GiB and cannot shrink to {new} GiB: its nodes keep it"
        yield where.problem(p.DISK_SHRINKS, size, message, "Put the old size back.")
    elif not grows_in_place(after):
        message = (
            f"the disk of pool `{after.name}` has {old} GiB and cannot grow to {new} GiB: its nodes keep it, and "
            f"{after.place.cloud} makes no disk larger while its VM runs"
        )
        yield where.problem(p.DISK_SHRINKS, size, message, "Put the old size back.")


def count_problems(pool: Pool, path: Path, where: Positions) -> Iterator[Problem]:
    """What refuses several disks for each instance of a pool."""
    if pool.disk.count == 1:
        return
    count, several = (*path, "disk", "count"), f"pool `{pool.name}` has {pool.disk.count} disks for each node"
    if pool.is_quorum:
        message = f"{several}; who votes keeps all it has in one directory"
        yield where.problem(p.DISK_COUNT, count, message, "Leave `count` away, or write 1.")
    elif pool.disk.kind == "ephemeral" and pool.place.cloud in OWN_DISKS_ON_ROOT:
        message = f"{several}, of kind `ephemeral`; a VM of {pool.place.cloud} has one disk of its own"
        yield where.problem(p.DISK_COUNT, count, message, "Write `kind: persistent`, or `count: 1`.")
