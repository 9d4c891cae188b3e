"""What applying a document would do, before anybody says yes: the very order the converger follows, with figures.

A plan's digest pins it. It is made of three parts, so that a refusal can say which one moved: the document, what is in
force on the cluster, and the steps. Bytes and seconds are left out: they grow with every record that is produced.
"""

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from controlplane.cluster.bandwidth import ASSUMED_BYTES_PER_S, CLIENTS_KEEP, nic_bytes_per_s, usable_bytes_per_s
from controlplane.cluster.data_size import bytes_by_broker
from controlplane.cluster.external_brokers import external_sentences
from controlplane.cluster.folds.security import declared as security_declared
from controlplane.cluster.hardware import pool_volumes
from controlplane.cluster.lifecycle import ALIVE
from controlplane.cluster.tls_limits import pool_tls_bytes_per_s
from controlplane.cluster.view import ClusterView
from controlplane.commands.previews.client_security import least_rights_notes, security_effects, security_warnings
from controlplane.commands.previews.costs import PlanCost
from controlplane.commands.previews.external import quorum_phases, static_quorum_warnings
from controlplane.commands.previews.growth import shares_of_newcomers
from controlplane.commands.previews.live import live_phases
from controlplane.commands.previews.migration import is_planned, migration_phases, migration_warnings
from controlplane.commands.previews.placement_moves import pools_that_move
from controlplane.commands.previews.quorum_warnings import quorum_warnings
from controlplane.commands.previews.sizes import size_lines
from controlplane.commands.previews.tls_way import makes_a_step_alone, tls_way_effects, tls_way_phases, tls_way_warnings
from controlplane.converger.questions.quorum.protocol import NO_FORMAT_ROLL, target_of
from controlplane.converger.questions.rolls.pending_changes import pending_changes
from controlplane.converger.questions.services.applied_settings import where_silent
from events.quantities import MIB
from events.spec import conversion, fields, presets, releases, storage_rules
from events.spec.change import FieldChange, differences
from events.spec.model import KafkaClusterDocument, Pool
from events.spec.settings import pool_config
from events.spec.storage_rules import with_grown_disks
from planner.drain.throttle import KAFKA_REACHES
from planner.observed import KafkaSnapshot
from planner.rollout.diff import Change, NodeChange
from planner.rollout.order import who_leads
from planner.rollout.setting_change import SettingChange, setting_changes
from planner.rollout.setting_class import SettingClass
from planner.rollout.steps import RolloutAssumptions, RolloutPlan, rollout_plan
from providers.cost_tags import FORMS
from providers.given_machines import given_by
from providers.racks import RackKind, racks_of

NO_ADDRESS_SURVIVES = (
    "no address of the last published bootstrap list survives the roll: every broker gets a new VM and there is no "
    "`bootstrap.dns`. Give clients the new list (`kedge endpoints`) while the roll goes on"
)

ONE_CONTROLLER = (
    "one controller: no metadata change is possible for some seconds while it is handed over or restarted (no new "
    "topic, no new leader for a broker that dies just then). A quorum of three goes on without a pause"
)


_PARTS = ("the document", "what is in force on the cluster", "the steps")

TAGGED = "put as a cost tag on VMs, disks and addresses in place, one node at a time; no restart"
IN_PLACE = "grown in place, one node at a time; no restart"
NEW_DISKS = "brokers move to new VMs with new disks"
HEAP_RESTARTS = "the services are restarted in place: a heap is fixed when Java starts"
OPTIONS_RESTART = "the services are restarted in place: Java reads its options when it starts"
FIREWALLS_ALONE = "firewalls change, and nothing else: no service is restarted, no VM is replaced"
_CLIENTS_OF_A_LISTENER = re.compile(r"spec\.listeners\[[^]]*\]\.clients")
OTHER_ADDRESSES = "the VMs are replaced: clients know the addresses of the listeners"


@dataclass(frozen=True, slots=True)
class PlanPreview:
    """The plan of one document on one cluster."""

    cluster: str
    exists: bool
    generation: int
    """The generation it would become: unchanged when the document is in force already."""
    changes: tuple[FieldChange, ...]
    rollout: RolloutPlan
    digest: str
    brake: str = ""
    """What the fleet's brake says to it now; no part of the digest, others' rolls move it."""
    effects: Mapping[str, str] = field(default_factory=dict)
    """What becomes of each changed Kafka setting, in words, by the path of its field."""
    cost: PlanCost | None = None
    """No part of the digest: prices are read anew without a word of the spec changing."""

    networks: tuple[str, ...] = ()
    """Networks that are made first, and who they let in, in words; no part of the digest, others may change both."""
    afterwards: tuple[str, ...] = ()
    """Data that moves once the steps are done, in words; no part of the digest, bytes grow meanwhile."""
    preset: tuple[str, ...] = ()
    """What the word of the spec stands for in it; no part of the digest, which has what came of it."""
    sizes: tuple[str, ...] = ()
    """Heap and threads of new VMs where their machine decides them, in words; no part of the digest, as figures of a
    machine may be learnt anew."""
    moves: tuple[str, ...] = ()
    """Pools that move to another place, in words; no part of the digest, bytes grow meanwhile."""
    clients: tuple[str, ...] = ()
    """Clients that are too old for the version, in words; no part of the digest, they come and go."""
    window: str = ""
    """Whether it would begin now, in words, where windows or freezes say so; no part of the digest."""
    sizes_age_s: float | None = None
    """Of what its bytes are from, by Kafka's metadata; None where nobody has read that. No part of the digest."""

    @property
    def warnings(self) -> tuple[str, ...]:
        return self.rollout.warnings

    @property
    def rolls(self) -> bool:
        """Whether it brings steps to a living cluster. What is left to do of the document in force is not its doing."""
        return self.exists and bool(self.changes) and bool(self.rollout.phases)

    @property
    def copies(self) -> bool:
        """Whether data is copied from broker to broker, by a step of it or afterwards."""
        return bool(self.afterwards) or any(
            "drain" in step.how for phase in self.rollout.phases for step in phase.steps
        )


def preview(
    view: ClusterView,
    document: KafkaClusterDocument,
    *,
    snapshot: KafkaSnapshot | None,
    warnings: Sequence[str] = (),
    brake: str = "",
    cost_tags: Collection[str] = (),
) -> PlanPreview:
    """The plan of a document. `view` is the living cluster of that name, or an empty one; `brake` is told where the
    plan replaces VMs; `cost_tags` are the labels that are put on clouds. Pure."""
    exists = view.document is not None
    changes = differences(view.document, document) if view.document else ()
    wanted = replace(security_declared(view, document), document=document)
    nodes = pending_changes(wanted)
    warned = [*warnings, *_warnings(wanted, nodes), *static_quorum_warnings(view, document, snapshot)]
    warned += [*security_warnings(view.document, document), *least_rights_notes(view, nodes)]
    in_zookeeper_mode = document.spec.kafka.mode == "zookeeper"
    protocol = _protocol(view, document) if in_zookeeper_mode else ""
    raises_levels = exists and not in_zookeeper_mode and document.spec.external is None
    rollout = rollout_plan(
        [node for node in nodes if not makes_a_step_alone(node)],
        assumptions=_assumptions(wanted, document, snapshot),
        finalise=_finalises(view, document, nodes) if raises_levels else "",
        protocol=protocol,
        warnings=[*warned, NO_FORMAT_ROLL] if protocol else warned,
    )
    if is_planned(view, document):
        phases = (*rollout.phases, *migration_phases(view, document))
        rollout = replace(rollout, phases=phases, warnings=(*rollout.warnings, *migration_warnings(view, document)))
    if ways := tls_way_phases(wanted, document):
        said = (*rollout.warnings, *tls_way_warnings(wanted, document))
        rollout = replace(rollout, phases=(*rollout.phases, *ways), warnings=said)
    before, after = live_phases(wanted, snapshot)
    before = (*quorum_phases(view, document, snapshot), *before)
    if before or after:
        rollout = replace(rollout, phases=(*before, *rollout.phases, *after))
    waits = brake if any(c.change in (Change.REPLACE, Change.RESTART) for c in nodes) else ""
    generation = view.generation if exists and not changes else view.generation + 1
    digest = _digest(view, document, rollout)
    effects = _effects(view, wanted, document, changes, nodes) | _label_effects(changes, document, cost_tags)
    moves = (*pools_that_move(view, document, rollout, snapshot), *external_sentences(view, document, snapshot))
    then = shares_of_newcomers(wanted, document, nodes, snapshot) if exists else ()
    return PlanPreview(
        document.metadata.name,
        exists,
        generation,
        changes,
        rollout,
        digest,
        waits,
        effects,
        moves=moves,
        afterwards=then,
        sizes=size_lines(nodes),
        preset=tuple(presets.words(conversion.to_data(document)["spec"])) if not exists or changes else (),
    )


def _effects(
    view: ClusterView,
    wanted: ClusterView,
    document: KafkaClusterDocument,
    changes: Sequence[FieldChange],
    nodes: Sequence[NodeChange],
) -> dict[str, str]:
    """What each changed field does to what stands, by its path; nothing for a cluster that is not there yet."""
    if view.document is None:
        return {}
    found = {**_process_effects(changes, nodes), **_disk_effects(changes, wanted)}
    found |= security_effects(changes, document, nodes) | tls_way_effects(wanted, document, changes)
    found |= _setting_effects(view.document, wanted, nodes) | _lost_disk_effects(changes, document)
    return found | {change.path: FIREWALLS_ALONE for change in changes if _CLIENTS_OF_A_LISTENER.fullmatch(change.path)}


def pending_rollout(view: ClusterView, snapshot: KafkaSnapshot | None) -> RolloutPlan:
    """What is left to do for the document in force."""
    if view.document is None:
        return RolloutPlan((), ())
    return preview(view, view.document, snapshot=snapshot).rollout


def moved_parts(expected: str, now: str, parts: Sequence[str] = _PARTS) -> list[str]:
    """Which parts of a plan are not what they were, in words. Empty when the digests are equal."""
    if expected == now:
        return []
    old, new = expected.split("-"), now.split("-")
    if len(old) != len(parts) or len(new) != len(parts):
        return [f"`{expected}` is not the digest of such a plan"]
    return [word for word, before, after in zip(parts, old, new, strict=True) if before != after]


def combined_digest(digests: Iterable[str]) -> str:
    """One digest for all a file does: its clusters in its order, then its topics by cluster. One alone is itself."""
    return "+".join(digests)


def _digest(view: ClusterView, document: KafkaClusterDocument, rollout: RolloutPlan) -> str:
    in_force = (view.uid if view.document else "", view.generation)
    # Sorted: who goes first follows the quorum's leader, who may change between a look and an apply.
    steps = sorted([s.node, s.change, s.reason, *s.how] for p in rollout.phases for s in p.steps)
    parts = (conversion.to_data(document), in_force, [steps, rollout.warnings])
    return "-".join(short_digest(json.dumps(part, sort_keys=True)) for part in parts)


def short_digest(text: str) -> str:
    """A part of a digest."""
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def _process_effects(changes: Iterable[FieldChange], nodes: Sequence[NodeChange]) -> dict[str, str]:
    """Fields a process is started with beside its settings: those of its JVM, the listeners."""
    found = {}
    for change in changes:
        of_kafka = change.path.startswith("spec.kafka.config[") or "].config[" in change.path
        if change.field_class is not fields.FieldClass.RESTART or of_kafka:
            continue
        pool, is_of_one, field_name = change.path.removeprefix("spec.pools[").partition("].")
        beside = field_name == "zookeeperHeapMib"
        of_jvm = is_of_one and (beside or field_name in ("heapMib", "jvmOptions"))
        words = OPTIONS_RESTART if field_name == "jvmOptions" else HEAP_RESTARTS
        found[change.path] = _jvm_effect(pool, nodes, words, beside=beside) if of_jvm else OTHER_ADDRESSES
    return found


def _jvm_effect(pool: str, nodes: Sequence[NodeChange], words: str, *, beside: bool) -> str:
    """Of who is there: a node that is made now, or made anew, starts with it. `beside`: of the servers on the brokers'
    VMs."""
    there = [c for c in nodes if c.desired and c.desired.pool == pool and c.incumbent and not c.incumbent.lost]
    restarted = any(c.jvm for c in there if c.beside is beside)
    replaced = any(c.change is Change.REPLACE for c in there)
    if replaced:
        return f"{words}; the replaced VMs are started with it" if restarted else "comes with the replaced VMs"
    return words if restarted else "changes nothing: the services have it"


def _label_effects(
    changes: Iterable[FieldChange], document: KafkaClusterDocument, listed: Collection[str]
) -> dict[str, str]:
    """Labels that become cost tags, or are none any more, where any cloud of the spec has tags."""
    tagged = any(pool.place.cloud in FORMS for pool in document.spec.pools)
    paths = {f"metadata.labels[{key}]" for key in listed}
    return {change.path: TAGGED for change in changes if tagged and change.path in paths}


def _disk_effects(changes: Iterable[FieldChange], wanted: ClusterView) -> dict[str, str]:
    """What becomes of disks of another size or number, by the path of their field."""
    found = {}
    meant = wanted.grown(wanted.document)
    for pool in meant.spec.pools if meant is not None else ():
        path = f"spec.pools[{pool.name}].disk.sizeGib"
        for change in changes:
            if change.path in {f"spec.pools[{pool.name}].disk.{word}" for word in _OF_NEW_DISKS}:
                found[change.path] = NEW_DISKS
            if change.path == path:
                found[path] = _size_effect(change, pool, wanted.vms.grown_pools.get(pool.name, 0))
            if change.path.startswith(f"spec.pools[{pool.name}].disk.grow"):
                found[change.path] = _growth_effect(pool)
    return found


def _lost_disk_effects(changes: Iterable[FieldChange], document: KafkaClusterDocument) -> dict[str, str]:
    """What becomes of lost brokers from then on; none of those that serve is touched."""
    path = "spec.healing.lostDisk"
    if all(change.path != path for change in changes):
        return {}
    if document.spec.healing.lost_disk == "reattach":
        passing = [
            f"`{pool.name}`"
            for pool in document.spec.broker_pools
            if pool.disk.kind == "persistent" and not pool.has_members
        ]
        if not passing:
            return {path: "changes nothing: no pool has disks that outlive their VMs and pass on"}
        pools = ", ".join(passing)
        return {path: f"the next VM of a lost broker of {pools} gets its id and disk, which catches up; no restart now"}
    if document.spec.rollout.strategy == "reattach":
        return {path: "lost brokers still pass their disks on, as rollout.strategy is reattach; no restart now"}
    return {path: "what a lost broker had is copied whole to its next VM, under a new id; no restart now"}


def _size_effect(change: FieldChange, pool: Pool, grown_gib: int) -> str:
    """Of another `sizeGib`. What disks have grown to by themselves is the size that counts, where it is above."""
    before, after = max(change.old, grown_gib), pool.disk.size_gib
    if after == before:
        return f"changes nothing: the disks have grown to {after} GiB by themselves, and none shrinks"
    return IN_PLACE if after > before and storage_rules.grows_in_place(pool) else NEW_DISKS


def _growth_effect(pool: Pool) -> str:
    grow = pool.disk.grow
    if grow is None:
        return f"the disks grow no more by themselves and keep their {pool.disk.size_gib} GiB"
    return (
        f"once a broker of the pool is more than {grow.above} % full all its disks ({pool.disk.size_gib} GiB) grow in "
        f"place, up to {grow.to} GiB each; nothing shrinks them again"
    )


_OF_NEW_DISKS = ("count", "type", "iops", "throughputMibPerS", "kmsKey")


def _setting_effects(old: KafkaClusterDocument, wanted: ClusterView, nodes: Sequence[NodeChange]) -> dict[str, str]:
    """Path of each changed Kafka setting -> what will happen; VMs that are replaced anyway are started with it."""
    replaced = any(c.change is Change.REPLACE and c.incumbent and not c.incumbent.lost for c in nodes)
    restarted = any(c.change is Change.RESTART for c in nodes)
    new = wanted.document
    if new is None:
        return {}
    silent, version = where_silent(wanted, new), new.spec.kafka.version
    before, after = old.spec.kafka.config, new.spec.kafka.config
    found = setting_changes(before, after, version=version, where_silent=silent)
    effects = {f"spec.kafka.config[{c.name}]": _effect(c, replaced=replaced, restarted=restarted) for c in found}
    for pool in new.spec.pools:
        there = [c for c in nodes if c.desired is not None and c.desired.pool == pool.name]
        gone = any(c.change is Change.REPLACE and c.incumbent and not c.incumbent.lost for c in there)
        again = any(c.change is Change.RESTART for c in there)
        own = setting_changes(
            pool_config(old, pool.name), pool.config, version=version, where_silent={**silent, **after}
        )
        for c in own:
            said = _effect(replace(c, effect=_in_pool(c)), replaced=gone, restarted=again)
            effects[f"spec.pools[{pool.name}].config[{c.name}]"] = said
    return effects


def _in_pool(change: SettingChange) -> str:
    """On the brokers of a pool alone; without a value of the pool the cluster's holds there."""
    if change.live is None:
        return change.effect
    if change.new is None:
        return f"the brokers of the pool go back to what holds for the cluster ({change.live.value}), live"
    return change.effect.replace("set live on every broker", "set live on each broker of the pool", 1)


def _effect(change: SettingChange, *, replaced: bool, restarted: bool) -> str:
    if not replaced:
        return change.effect
    if not change.needs_restart:
        when = "once nothing rolls" if change.setting_class is SettingClass.GUARDED else "before the VMs are replaced"
        return f"{change.effect}; {when}" if change.live else change.effect
    return f"{change.effect}; the replaced VMs are started with it" if restarted else "comes with the replaced VMs"


def _assumptions(
    view: ClusterView, document: KafkaClusterDocument, snapshot: KafkaSnapshot | None
) -> RolloutAssumptions:
    document = with_grown_disks(document, view.vms.grown_pools)
    policy = document.spec.rollout
    cap = policy.throttle_mib_per_s
    machines = [(pool.place.cloud, pool.machine) for pool in document.spec.broker_pools]
    usable = [usable_bytes_per_s(*m, cap, given_by(document)) for m in machines]
    limits = [pool_volumes(pool, given_by(document)) for pool in document.spec.broker_pools]
    usable += [int(known.bytes_per_s) for known in limits if known is not None]
    by_tls = (pool_tls_bytes_per_s(document, pool) for pool in document.spec.broker_pools)
    usable += [int(rate) for rate in by_tls if rate is not None]
    rate = int(min(usable, default=usable_bytes_per_s("", "", cap)) * (1 - CLIENTS_KEEP))
    return RolloutAssumptions(
        bytes_by_broker=bytes_by_broker(snapshot),
        bandwidth_bytes_per_s=min(rate, int(cap * MIB * KAFKA_REACHES)) if cap else rate,
        linger_s=policy.linger_s,
        soak_s=policy.soak_s,
        surge=max(1, policy.surge),
        leaders=who_leads(snapshot),
        reattach=policy.strategy == "reattach",
        founded=view.quorum.founding is not None,
        restarts_together=policy.max_parallel_restarts,
    )


def _unknown_networks(document: KafkaClusterDocument) -> Iterator[str]:
    """A warning for each machine whose network nobody has a figure of."""
    cap = document.spec.rollout.throttle_mib_per_s
    basis = f"rollout.throttleMibPerS = {cap} MiB/s" if cap else f"{ASSUMED_BYTES_PER_S // MIB} MiB/s, which is a guess"
    for cloud, machine in sorted({(p.place.cloud, p.machine) for p in document.spec.broker_pools}):
        if nic_bytes_per_s(cloud, machine, given_by(document)) is None:
            yield f"the network of machine {machine} on {cloud} is unknown: times and drains rest on {basis}"


def _unknown_volumes(document: KafkaClusterDocument) -> Iterator[str]:
    """A warning for each pool of which nobody knows what its volumes do. Disks of `local` are directories."""
    for pool in document.spec.broker_pools:
        if pool.place.cloud != "local" and pool_volumes(pool, given_by(document)) is None:
            disks = f"{pool.disk.kind} disks of pool {pool.name} on {pool.place.cloud}"
            yield f"what the {disks} write and read is unknown: drains are planned by the network alone"


def _labels(document: KafkaClusterDocument) -> Iterator[str]:
    """A warning for each set of racks that nothing keeps apart."""
    shared: dict[tuple[str, tuple[str, ...]], str] = {}
    for pool in document.spec.pools:
        racks = {zone: racks_of(pool.place.cloud, zone) for zone in pool.place.zones}
        labels = {zone: one.apart for zone, one in racks.items() if one is not None and one.kind is RackKind.LABEL}
        if len(labels) > 1:
            shared[pool.place.cloud, tuple(sorted(labels))] = next(iter(labels.values()))
    for (cloud, zones), apart in sorted(shared.items()):
        yield f"racks {', '.join(zones)} of {cloud} are labels, all copies of a partition may fail together: {apart}"


def _warnings(view: ClusterView, nodes: Sequence[NodeChange]) -> list[str]:
    lost = [NO_ADDRESS_SURVIVES] if _clients_are_lost(view, nodes) else []
    document = view.document
    lost += (*_unknown_networks(document), *_unknown_volumes(document), *_labels(document)) if document else ()
    lost += (*quorum_warnings(view, nodes), *_brokers_restarted_first(view, nodes), *_moved_out(view))
    return [*lost, ONE_CONTROLLER] if _hands_over_the_only_controller(view, nodes) else lost


def _hands_over_the_only_controller(view: ClusterView, nodes: Sequence[NodeChange]) -> bool:
    alone = view.document is not None and view.document.spec.quorum_size == 1
    stops = (Change.REPLACE, Change.RESTART)
    return alone and any(c.service != "broker" and c.change in stops for c in nodes)


def _brokers_restarted_first(view: ClusterView, nodes: Sequence[NodeChange]) -> list[str]:
    """Brokers of other pools, where VMs with a server of the ensemble go: they know it by its address."""
    away = [f"`{p.name}`" for p in view.document.spec.broker_pools if not p.has_members] if view.document else []
    going = [c.incumbent for c in nodes if c.change in (Change.REPLACE, Change.REMOVE) and c.incumbent]
    if not away or all(i.member.id < 0 for i in going):
        return []
    return [
        f"brokers of {' and '.join(away)} are started anew, one at a time, before the ZooKeeper servers they know "
        "become too few"
    ]


def _moved_out(view: ClusterView) -> list[str]:
    """Servers that are beside brokers, and are to be in a pool of their own."""
    spec = view.document.spec if view.document else None
    if spec is None or spec.kafka.mode != "zookeeper" or spec.controller_pool.has_members:
        return []
    if not any(m.hosted for m in view.controllers()):
        return []
    return [
        f"the ZooKeeper servers on brokers' VMs leave for good once those of `{spec.controller_pool.name}` vote; "
        "before that every broker is started anew, one at a time, to know them"
    ]


def _clients_are_lost(view: ClusterView, nodes: Sequence[NodeChange]) -> bool:
    """Whether nobody who knows only today's addresses finds the cluster after the roll."""
    document = view.document
    published = {i.key for i in view.brokers() if i.phase in ALIVE and i.address and not i.lost}
    if document is None or document.spec.bootstrap.dns or not published:
        return False
    staying = {c.incumbent.key for c in nodes if c.change in (Change.KEEP, Change.RESTART, Change.GROW) and c.incumbent}
    return not published & staying


def _finalises(view: ClusterView, document: KafkaClusterDocument, nodes: Sequence[NodeChange]) -> str:
    """The release whose feature levels are raised at the end, "" when none is above what the cluster comes from."""
    target = _target(document)
    outdated = [c.incumbent.kafka_version for c in nodes if c.change is Change.REPLACE and c.incumbent]
    before = [*outdated, *([_target(view.document)] if view.document else [])]
    return target if any(_release(old) < _release(target) for old in before) else ""


def _protocol(view: ClusterView, document: KafkaClusterDocument) -> str:
    """The protocol version brokers are started anew with at the end, "" where they have it already."""
    target = target_of(document)
    return (
        target
        if view.quorum.protocol and releases.as_numbers(target) > releases.as_numbers(view.quorum.protocol)
        else ""
    )


def _target(document: KafkaClusterDocument) -> str:
    return document.spec.kafka.metadata_version or document.spec.kafka.version


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])
