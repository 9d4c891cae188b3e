"""Rules about a change of mode: what a migration from ZooKeeper to KRaft asks of the cluster first, and of the spec.

The protocol behind them, and where it was tried: docs/zookeeper.md, "Migrating to KRaft".
"""

from collections.abc import Iterator

from events.spec import problems as p
from events.spec.change import FieldChange, differences
from events.spec.fields import FieldClass
from events.spec.model import KafkaClusterDocument
from events.spec.positions import Positions
from events.spec.problems import Path, Problem
from events.spec.releases import MIGRATES, is_of_migrations, metadata_level_of

_KAFKA: Path = ("spec", "kafka")
_MODE: Path = (*_KAFKA, "mode")
_NAMED = 3
"""Other changes named in a message; the rest is a count."""


def migration_problems(old: KafkaClusterDocument, new: KafkaClusterDocument, where: Positions) -> Iterator[Problem]:
    """Everything that refuses a change of mode; nothing where the mode stays."""
    before, after = old.spec.kafka, new.spec.kafka
    if before.mode == after.mode:
        return
    if after.mode == "zookeeper":
        message = "the mode was `kraft` and cannot become `zookeeper`: Kafka has no way from KRaft to ZooKeeper"
        yield where.problem(p.MIGRATION, _MODE, message, "Write `mode: kraft`.")
        return
    if any(pool.has_members for pool in old.spec.pools):
        message = (
            "the cluster's ZooKeeper servers share the VMs of its brokers; a cluster migrates to KRaft from an "
            "ensemble in a pool of its own"
        )
        fix = (
            "Keep `mode: zookeeper`, write `services: [broker]` for them and add a pool with `services: [zookeeper]`, "
            "apply, and migrate once the servers have moved there."
        )
        yield where.problem(p.MIGRATION, _MODE, message, fix)
        return
    yield from _release(old, new, where)
    yield from _disks(old, new, where)
    yield from _more(old, new, where)


def changes_on_top(old: KafkaClusterDocument, new: KafkaClusterDocument) -> list[FieldChange]:
    """What would change of what runs, beside the mode and the pools of the quorums."""
    quorums = {f"spec.pools[{pool.name}]" for spec in (old.spec, new.spec) for pool in spec.pools if pool.is_quorum}
    return [change for change in differences(old, new) if _comes_on_top(change, quorums)]


def named_changes(changes: list[FieldChange]) -> str:
    """The first of them by name, and how many more."""
    names = ", ".join(f"`{change.path}`" for change in changes[:_NAMED])
    return f"{names} and {len(changes) - _NAMED} more" if len(changes) > _NAMED else names


def _release(old: KafkaClusterDocument, new: KafkaClusterDocument, where: Positions) -> Iterator[Problem]:
    """Quorums of 3.8 are static (KIP-853), Kafka 4 has no ZooKeeper: both ends of the migration are 3.9."""
    before, after = old.spec.kafka, new.spec.kafka
    if not is_of_migrations(before.version):
        line = metadata_level_of(MIGRATES)
        message = f"the cluster runs Kafka {before.version}, and migrates to KRaft on {line}.x only"
        fix = f"Write `version: {MIGRATES}` with `mode: zookeeper`, apply, and migrate after that roll."
        yield where.problem(p.MIGRATION, (*_KAFKA, "version"), message, fix)
    elif not is_of_migrations(after.version):
        message = (
            f"Kafka {after.version} cannot read what {before.version} keeps in ZooKeeper: a cluster migrates first"
        )
        fix = f"Write `version: {before.version}`; Kafka 4 is a roll of its own after the migration."
        yield where.problem(p.MIGRATION, (*_KAFKA, "version"), message, fix)
    elif after.version != before.version:
        message = f"a cluster migrates on the version it runs, {before.version}, and {after.version} is another"
        fix = f"Write `version: {before.version}`; another is a roll of its own, before the migration or after it."
        yield where.problem(p.MIGRATION, (*_KAFKA, "version"), message, fix)
    pin, level = before.metadata_version, metadata_level_of(MIGRATES)
    if pin is not None and pin != level:
        message = f"the protocol is pinned at {pin}, and a cluster migrates to KRaft at protocol {level} only"
        fix = f"Remove `metadataVersion` with `mode: zookeeper`, apply, and migrate once the protocol is {level}."
        yield where.problem(p.MIGRATION, (*_KAFKA, "metadataVersion"), message, fix)


def _disks(old: KafkaClusterDocument, new: KafkaClusterDocument, where: Positions) -> Iterator[Problem]:
    there = {pool.name for pool in old.spec.broker_pools if pool.disk.kind == "ephemeral"}
    for index, pool in enumerate(new.spec.pools):
        if pool.name in there:
            message = (
                f"pool `{pool.name}` has ephemeral disks: a broker migrates under its id and with its disk, which such "
                "a VM takes with it"
            )
            fix = "Add a pool with persistent disks, apply, remove this one, apply, and migrate after that."
            yield where.problem(p.MIGRATION, ("spec", "pools", index, "disk", "kind"), message, fix)


def _more(old: KafkaClusterDocument, new: KafkaClusterDocument, where: Positions) -> Iterator[Problem]:
    more = changes_on_top(old, new)
    if more:
        message = f"{named_changes(more)} would change beside the mode: while a cluster migrates nothing else does"
        fix = "Apply the rest before the migration, or after it."
        yield where.problem(p.MIGRATION, more[0].steps or _MODE, message, fix)


def _comes_on_top(change: FieldChange, quorums: set[str]) -> bool:
    """The pools of the quorums come and go with the mode; who owns the cluster, and how it is rolled, changes nothing
    that runs."""
    if change.path in {"spec.kafka.mode", "spec.kafka.version", "spec.kafka.metadataVersion"} or change.path in quorums:
        return False
    return change.field_class is not FieldClass.BEHAVIOURAL or change.path.startswith("spec.pools")
