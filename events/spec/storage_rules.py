"""What becomes of a changed disk: grown where it is, left behind by a roll, or refused."""

from collections.abc import Iterator, Mapping

from events.spec import problems as p
from events.spec.disk_options import option_change_problems
from events.spec.housekeeping import Healing
from events.spec.model import Disk, KafkaClusterDocument, Pool
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


def with_grown_disks(document: KafkaClusterDocument, grown: Mapping[str, int]) -> KafkaClusterDocument:
    """The spec as it is meant where disks of its pools (by name) have grown to so many GiB by themselves: its `sizeGib`
    is the least they have. The very same document where it says as much itself."""
    sizes = {pool.name: grown_size(pool, grown.get(pool.name, 0)) for pool in document.spec.pools}
    if all(pool.disk.size_gib == sizes[pool.name] for pool in document.spec.pools):
        return document
    pools = tuple(
        pool.model_copy(update={"disk": pool.disk.model_copy(update={"size_gib": sizes[pool.name]})})
        for pool in document.spec.pools
    )
    return document.model_copy(update={"spec": document.spec.model_copy(update={"pools": pools})})


def grown_size(pool: Pool, grown_gib: int) -> int:
    """GiB that each disk of a pool is to have where its disks grew to `grown_gib`, 0 where they never did. Disks of
    another kind than those that grew have what the spec says."""
    return max(pool.disk.size_gib, grown_gib) if pool.disk.kind == "persistent" else pool.disk.size_gib


def grow_problems(pool: Pool, path: Path, where: Positions) -> Iterator[Problem]:
    """What refuses `disk.grow` in a pool, and what is warned of."""
    grow, at = pool.disk.grow, (*path, "disk", "grow")
    if grow is None:
        return
    without = f"Take `grow` away from pool `{pool.name}`."
    if not pool.is_broker:
        message = f"pool `{pool.name}` has no brokers; what votes keeps little, and its disk grows by `sizeGib` alone"
        yield where.problem(p.DISK_GROWTH, at, message, without)
    elif pool.disk.kind != "persistent":
        message = f"the disks of pool `{pool.name}` are ephemeral: they are as large as their VMs have them"
        yield where.problem(p.DISK_GROWTH, at, message, without)
    elif not grows_in_place(pool):
        message = f"pool `{pool.name}` is on {pool.place.cloud}, which makes no disk larger while its VM runs"
        fix = f"{without} A larger `sizeGib` moves its brokers to new VMs, when you choose."
        yield where.problem(p.DISK_GROWTH, at, message, fix)
    elif grow.to <= pool.disk.size_gib:
        message = f"the disks of pool `{pool.name}` may grow to {grow.to} GiB and have {pool.disk.size_gib} GiB already"
        fix = f"Write more than {pool.disk.size_gib}, or take `grow` away."
        yield where.problem(p.DISK_GROWTH_DONE, (*at, "to"), message, fix)


def lost_disk_problems(healing: Healing, pools: Mapping[int, Pool], where: Positions) -> Iterator[Problem]:
    """A warning for each pool whose lost brokers are copied though `healing.lostDisk` is `reattach`. Every cloud gives
    a persistent disk to another VM, one way or the other (`providers.handover`)."""
    if healing.lost_disk != "reattach":
        return
    path, fix = ("spec", "healing", "lostDisk"), "Know that it is so, or write `lostDisk: copy` where no pool can."
    for pool in pools.values():
        if pool.is_broker and pool.disk.kind == "ephemeral":
            message = f"the disks of pool `{pool.name}` are ephemeral, gone with their VMs: its lost brokers are copied"
            yield where.problem(p.LOST_DISK, path, message, fix)
        elif pool.has_members:
            message = f"pool `{pool.name}` has ZooKeeper servers beside its brokers: its lost brokers are copied"
            yield where.problem(p.LOST_DISK, path, message, fix)


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
