"""Rules about a change: what a living cluster cannot become in one step."""

from collections.abc import Iterator, Mapping

from events.quantities import GIB
from events.spec import problems as p
from events.spec.change import FieldChange, differences
from events.spec.distribution_rules import same_build_problems
from events.spec.external_rules import external_change_problems
from events.spec.fields import FieldClass
from events.spec.migration_rules import migration_problems
from events.spec.model import KafkaClusterDocument, Pool
from events.spec.network_rules import move_problems
from events.spec.positions import Positions
from events.spec.problems import Path, Problem
from events.spec.security_change_rules import security_change_problems
from events.spec.security_rules import listener_change_problems
from events.spec.storage_rules import disk_problems, disks_in_words

FULL_PERCENT = 85
"""How full the remaining disks may get; Kafka stops a broker whose disk is full."""

_POOLS: Path = ("spec", "pools")
_IMMUTABLE_FIX = {
    "external": "Keep it as it is: a cluster is imported once, and its quorum stays with who runs it.",
    "clusterId": "Keep it: it is Kafka's own.",
    "metadata.name": "Keep the name, or declare a second cluster and move the data.",
    "place": "Keep the network; add a pool in the new one's place, apply, then remove this one.",
    "services": "Keep the services; add a pool of the other kind instead.",
}


def change_problems(
    old: KafkaClusterDocument,
    new: KafkaClusterDocument,
    data_bytes_per_pool: Mapping[str, int] | None,
    where: Positions,
) -> Iterator[Problem]:
    """Everything that refuses the step from one accepted document to another accepted one."""
    for change in differences(old, new):
        if change.field_class is FieldClass.IDENTITY and not _is_judged_elsewhere(change, old, new):
            yield _immutable(change, where)
    yield from migration_problems(old, new, where)
    yield from same_build_problems(old, new, where)
    yield from security_change_problems(old, new, where)
    yield from listener_change_problems(old, new, where)
    yield from _moved_quorums(old, new, where)
    yield from move_problems(old, new, where)
    yield from external_change_problems(old, new, where)
    if old.spec.external is None and new.spec.external is None:
        yield from _controllers(old, new, where)
    yield from _removed_pools(old, new, where)
    yield from _disks(old, new, where)
    if data_bytes_per_pool is not None:
        yield from _capacity(old, new, data_bytes_per_pool, where)


def _immutable(change: FieldChange, where: Positions) -> Problem:
    message = f"`{change.path}` was {_shown(change.old)} and cannot become {_shown(change.new)}"
    keys = {change.path, *(str(step) for step in change.steps)}
    fix = next((fix for key, fix in _IMMUTABLE_FIX.items() if key in keys), "Put the old value back.")
    return where.problem(p.IMMUTABLE, change.steps, message, fix)


def _is_judged_elsewhere(change: FieldChange, old: KafkaClusterDocument, new: KafkaClusterDocument) -> bool:
    """The mode has rules of its own; a pool that goes to another place is in another network in any case."""
    if change.path == "spec.kafka.mode" or _leaves_brokers_vms(change, old, new):
        return True
    if change.steps[:2] != _POOLS or change.steps[-2:] != ("place", "network"):
        return False
    return any(
        index in change.steps and before.place.name != after.place.name for index, before, after in _kept(old, new)
    )


def _leaves_brokers_vms(change: FieldChange, old: KafkaClusterDocument, new: KafkaClusterDocument) -> bool:
    """Whether a pool has the servers of the ensemble no more, and goes on with its brokers: others get the servers."""
    if change.steps[:2] != _POOLS or change.steps[-1] != "services" or new.spec.kafka.mode != "zookeeper":
        return False
    there = next((pair for pair in _kept(old, new) if pair[0] in change.steps), None)
    return there is not None and there[1].has_members and there[2].services == ("broker",)


def _moved_quorums(old: KafkaClusterDocument, new: KafkaClusterDocument, where: Positions) -> Iterator[Problem]:
    """Controllers move one at a time under their ids, while the others are a majority; ZooKeeper servers do not move,
    and neither does the only controller: it would have to be there and here under one id."""
    for index, before, after in _kept(old, new):
        if not after.is_quorum or before.place.name == after.place.name:
            continue
        path = (*_POOLS, index, "place", "region")
        moves = f"pool `{after.name}` is in {before.place.name} and cannot move to {after.place.name}: "
        if after.has_members:
            message = f"{moves}its brokers share their VMs with ZooKeeper servers, and an ensemble stays in one place"
            yield where.problem(p.IMMUTABLE, path, message, f"Keep `{after.name}` where it is.")
        elif "zookeeper" in after.services:
            message = f"{moves}ids, disks and addresses of ZooKeeper servers belong to their nodes"
            fix = f"Keep `{after.name}` where it is; pools of brokers may move."
            yield where.problem(p.IMMUTABLE, path, message, fix)
        elif max(before.size, after.size) == 1 and before.place.zones[0] == after.place.zones[0]:
            message = f"{moves}nobody holds the metadata while the only controller changes its disk under its id"
            fix = "Write `size: 3`, apply, move, apply; then `size: 1` again. Or move to a zone of another name."
            yield where.problem(p.IMMUTABLE, path, message, fix)


def _controllers(old: KafkaClusterDocument, new: KafkaClusterDocument, where: Positions) -> Iterator[Problem]:
    before, after = old.spec.controller_pool, new.spec.controller_pool
    index = new.spec.pools.index(after)
    if before.has_members and not after.has_members:
        return
    if before.name != after.name and old.spec.kafka.mode == new.spec.kafka.mode:
        message = (
            f"the controller pool was `{before.name}` and cannot become `{after.name}`: "
            "the ids, disks and addresses of the quorum belong to its nodes"
        )
        path = (*_POOLS, index, "name")
        yield where.problem(p.CONTROLLERS_FIXED, path, message, f"Name it `{before.name}` again.")


def _removed_pools(old: KafkaClusterDocument, new: KafkaClusterDocument, where: Positions) -> Iterator[Problem]:
    before = [pool.name for pool in old.spec.broker_pools]
    after = {pool.name for pool in new.spec.broker_pools}
    if before and not after.intersection(before):
        message = f"no broker pool of before ({', '.join(before)}) remains to keep the cluster going"
        fix = "Keep one; to rename a pool, add the new one, apply, then remove the old one."
        yield where.problem(p.POOL_REMOVED, _POOLS, message, fix, key=True)


def _disks(old: KafkaClusterDocument, new: KafkaClusterDocument, where: Positions) -> Iterator[Problem]:
    for index, before, after in _kept(old, new):
        yield from disk_problems(before, after, (*_POOLS, index), where)


def _capacity(
    old: KafkaClusterDocument,
    new: KafkaClusterDocument,
    data_bytes: Mapping[str, int],
    where: Positions,
) -> Iterator[Problem]:
    """A pool that shrinks keeps its own data; the data of a pool that leaves goes to those that remain."""
    brokers = {pool.name for pool in new.spec.broker_pools}
    gone = [pool.name for pool in old.spec.broker_pools if pool.name not in brokers]
    for index, before, after in _kept(old, new):
        held = data_bytes.get(after.name, 0)
        if after.is_broker and _capacity_bytes(after) < _capacity_bytes(before) and not _fits(held, after):
            message = f"pool `{after.name}` shrinks from {_shape(before)} to {_shape(after)}, but " + _numbers(
                held, after
            )
            yield where.problem(p.BELOW_DATA, (*_POOLS, index, "size"), message, _smallest(held, after))
    held = sum(data_bytes.get(pool.name, 0) for pool in old.spec.broker_pools)
    if gone and not _fits(held, *new.spec.broker_pools):
        message = f"pool `{'`, `'.join(gone)}` leaves, but " + _numbers(held, *new.spec.broker_pools)
        fix = "Grow the pools that remain first, or delete data."
        yield where.problem(p.BELOW_DATA, _POOLS, message, fix, key=True)


def _kept(old: KafkaClusterDocument, new: KafkaClusterDocument) -> Iterator[tuple[int, Pool, Pool]]:
    """(index in the new document, old pool, new pool) of each pool that is in both."""
    before = {pool.name: pool for pool in old.spec.pools}
    for index, pool in enumerate(new.spec.pools):
        if pool.name in before:
            yield index, before[pool.name], pool


def _capacity_bytes(pool: Pool) -> int:
    return pool.size * pool.disk.total_gib * GIB


def _shape(pool: Pool) -> str:
    return f"{pool.size} nodes of {disks_in_words(pool.disk)}"


def _fits(data_bytes: int, *pools: Pool) -> bool:
    return 100 * data_bytes <= FULL_PERCENT * sum(map(_capacity_bytes, pools))


def _numbers(data_bytes: int, *pools: Pool) -> str:
    room = sum(map(_capacity_bytes, pools))
    return (
        f"{data_bytes / GIB:.1f} GiB are stored and {FULL_PERCENT} % of the remaining "
        f"{room / GIB:.0f} GiB are {room * FULL_PERCENT / 100 / GIB:.1f} GiB"
    )


def _smallest(data_bytes: int, pool: Pool) -> str:
    size = -(-100 * data_bytes // (FULL_PERCENT * pool.disk.total_gib * GIB))
    return f"Use at least {size} nodes of this disk size, or delete data."


def _shown(value: object) -> str:
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list) else f"`{value}`"
