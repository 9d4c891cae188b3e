"""Rules about the pools of one document: roles, counts, zones and disks."""

import re
from collections import Counter
from collections.abc import Iterator

from events.quantities import counted
from events.spec import problems as p
from events.spec.model import MetadataMode, Pool
from events.spec.positions import Positions
from events.spec.problems import Path, Problem
from events.spec.suggestions import did_you_mean

CLOUDS = ("local", "aws", "google", "azure", "digitalocean", "upcloud", "hetzner")
SIZES = ("small", "medium", "large")
QUORUM_SIZES = (1, 3, 5)

_ZONE_SUFFIXES = {"aws": "[a-z](-p[1-7])?"}
"""What follows the region in the name of a zone, where a cloud names its zones so."""

_POOLS: Path = ("spec", "pools")


def pools_together_problems(
    pools: tuple[Pool, ...], where: Positions, *, mode: MetadataMode = "kraft", is_external: bool = False
) -> Iterator[Problem]:
    """Everything wrong with all pools of a spec taken together. `is_external`: others have the quorum, and brokers."""
    if not is_external:
        yield from _roles(pools, where, mode)
    yield from _repeated_names(pools, where)


def pool_problems(index: int, pool: Pool, where: Positions) -> Iterator[Problem]:
    """Everything wrong with one pool, which stands at `index` in the list."""
    path = (*_POOLS, index)
    yield from _services(pool, path, where)
    yield from _place(pool, path, where)
    yield from _figures(pool, path, where)
    if pool.is_quorum:
        yield from _controllers(pool, path, where)


def _figures(pool: Pool, path: Path, where: Positions) -> Iterator[Problem]:
    named, seen = (pool.machine, *pool.alternatives), set[str]()
    for index, one in enumerate(pool.machine_figures):
        here = (*path, "machineFigures", index, "type")
        if one.type in seen:
            message = f"pool `{pool.name}` gives the figures of `{one.type}` twice"
            yield where.problem(p.REPEATED, here, message, "Remove one of the two.")
        elif one.type in SIZES:
            message = f"`{one.type}` is a size that stands for another type on each cloud: its figures are that type's"
            yield where.problem(p.MACHINE_FIGURES, here, message, "Name a machine type in the cloud's own words.")
        elif one.type not in named:
            message = f"pool `{pool.name}` gives the figures of `{one.type}`, which is not among its machines"
            fix = f"Its machines are {', '.join(named)}: correct the name, or remove the figures."
            yield where.problem(p.MACHINE_FIGURES, here, message, fix)
        seen.add(one.type)


def _roles(pools: tuple[Pool, ...], where: Positions, mode: MetadataMode) -> Iterator[Problem]:
    service, other = ("zookeeper", "controller") if mode == "zookeeper" else ("controller", "zookeeper")
    quorums = [
        index
        for index, pool in enumerate(pools)
        if service in pool.services and not (pool.is_broker and mode == "kraft")
    ]
    if not any(service in pool.services for pool in pools):
        message = f"no pool has the service `{service}`; a cluster needs exactly one such pool"
        fix = f"Add a pool of 3 with `services: [{service}]` and a persistent disk."
        yield where.problem(p.CONTROLLER_POOLS, _POOLS, message, fix, key=True)
    for index, pool in enumerate(pools):
        if other in pool.services:
            message = f"pool `{pool.name}` has the service `{other}`, which a cluster of mode `{mode}` does not have"
            fix = f"Write `services: [{service}]`, or `mode: {'kraft' if mode == 'zookeeper' else 'zookeeper'}`."
            yield where.problem(p.CONTROLLER_POOLS, (*_POOLS, index, "services"), message, fix)
    kind = "ZooKeeper servers" if mode == "zookeeper" else "controllers"
    for index in quorums[1:]:
        message = f"pool `{pools[index].name}` has {kind}, but pool `{pools[quorums[0]].name}` has them"
        fix = f"Keep the {kind} of one pool; its size may be 1, 3 or 5."
        yield where.problem(p.CONTROLLER_POOLS, (*_POOLS, index, "services"), message, fix)
    if not any(pool.is_broker for pool in pools):
        message = "no pool has the service `broker`, so nothing would hold data"
        yield where.problem(p.NO_BROKERS, _POOLS, message, "Add a pool with `services: [broker]`.", key=True)


def _repeated_names(pools: tuple[Pool, ...], where: Positions) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, pool in enumerate(pools):
        if pool.name in seen:
            message = f"pool `{pool.name}` is given twice; nodes are named after their pool"
            yield where.problem(p.POOL_NAME, (*_POOLS, index, "name"), message, "Give it another name.")
        seen.add(pool.name)


def _services(pool: Pool, path: Path, where: Positions) -> Iterator[Problem]:
    if pool.is_broker and pool.is_controller:
        message = (
            f"pool `{pool.name}` has both broker and controller; one process with both roles is not offered, "
            "because rolling a broker would then take a vote from the quorum"
        )
        fix = "Make two pools: one with `services: [broker]`, one with `services: [controller]`."
        yield where.problem(p.COMBINED, (*path, "services"), message, fix)
    elif "zookeeper" in pool.services and pool.is_controller:
        message = f"pool `{pool.name}` has ZooKeeper servers and controllers; a cluster has one quorum"
        fix = "Keep `controller`, or `zookeeper` with `mode: zookeeper`."
        yield where.problem(p.COMBINED, (*path, "services"), message, fix)
    if pool.zookeeper_heap_mib is not None and not pool.has_members:
        message = f"pool `{pool.name}` has no VMs with both a broker and a ZooKeeper server"
        fix = "Write `heapMib`, or `services: [broker, zookeeper]`."
        yield where.problem(p.MEMBERS, (*path, "zookeeperHeapMib"), message, fix)
    yield from _repeated(pool.services, (*path, "services"), where)


def _place(pool: Pool, path: Path, where: Positions) -> Iterator[Problem]:
    place = pool.place
    if place.cloud not in CLOUDS:
        fix = f"{did_you_mean(place.cloud, CLOUDS)}Choose one of {', '.join(CLOUDS)}."
        message = f"pool `{pool.name}` is in cloud `{place.cloud}`, which is unknown"
        yield where.problem(p.CLOUD, (*path, "place", "cloud"), message, fix)
    zones_path = (*path, "place", "zones")
    yield from _strange_zones(pool, zones_path, where)
    repeated = list(_repeated(place.zones, zones_path, where))
    yield from repeated
    if not repeated and _possible(pool, pool.size) and pool.size % len(place.zones):
        yield _uneven(pool, path, where)


def _strange_zones(pool: Pool, path: Path, where: Positions) -> Iterator[Problem]:
    region = pool.place.region
    suffix = _ZONE_SUFFIXES.get(pool.place.cloud)
    for index, zone in enumerate(pool.place.zones):
        if suffix is not None and not re.fullmatch(re.escape(region) + suffix, zone):
            message = f"pool `{pool.name}` is in zone `{zone}`, which is not a zone of region `{region}`"
            fix = f"Zones of it are {region}a, {region}b and so on; partitions in one are {region}a-p1 to {region}a-p7."
            yield where.problem(p.PLACE, (*path, index), message, fix)


def _uneven(pool: Pool, path: Path, where: Positions) -> Problem:
    zones = pool.place.zones
    dealt = Counter(zones[index % len(zones)] for index in range(pool.size))
    spread = ", ".join(f"{zone}: {dealt[zone]}" for zone in zones)
    message = f"pool `{pool.name}` deals {counted(pool.size, 'node')} out to {len(zones)} zones unevenly ({spread})"
    less = pool.size - pool.size % len(zones)
    sizes = [size for size in (less, less + len(zones)) if size > 0 and _possible(pool, size)]
    fix = f"Use size {' or '.join(map(str, sizes))}" if sizes else "Use as many zones as nodes"
    return where.problem(p.UNEVEN, (*path, "size"), message, f"{fix}, or leave it if that is meant.")


def _possible(pool: Pool, size: int) -> bool:
    return not pool.is_quorum or size in QUORUM_SIZES


def _repeated(items: tuple[str, ...], path: Path, where: Positions) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, item in enumerate(items):
        if item in seen:
            message = f"`{item}` is listed twice"
            yield where.problem(p.REPEATED, (*path, index), message, "List it once.")
        seen.add(item)


def _controllers(pool: Pool, path: Path, where: Positions) -> Iterator[Problem]:
    kind, one = ("controllers", "a controller") if pool.is_controller else ("ZooKeeper servers", "a ZooKeeper server")
    if pool.size not in QUORUM_SIZES:
        lost = (pool.size - 1) // 2
        message = f"pool `{pool.name}` has {pool.size} {kind}; a quorum has 1, 3 or 5"
        if pool.size % 2 == 0:
            message += f" ({pool.size} survive the loss of {lost}, no more than {pool.size - 1} do)"
        yield where.problem(p.CONTROLLER_COUNT, (*path, "size"), message, "Use 3, or 5 for large clusters.")
    if pool.disk.kind != "persistent":
        message = (
            f"pool `{pool.name}` has {kind} on an ephemeral disk; "
            f"{one} keeps its id and its disk when its VM is replaced"
        )
        yield where.problem(p.CONTROLLER_DISK, (*path, "disk", "kind"), message, "Write `kind: persistent`.")
