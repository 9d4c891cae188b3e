"""From found VMs to instances as an intent would have fixed them: ids, volumes, settings, and what differs. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from types import MappingProxyType

from agent.host_port import plain_host
from controlplane.cluster.views.vms import FIRST_BROKER_ID
from controlplane.converger.questions.rolls.node_volumes import directory_names
from controlplane.server.rebuild.evidence import FoundCluster, FoundVm
from events import facts
from events.ids import derived_id, kafka_uuid
from events.jvm import Jvm
from planner.rollout.desired import DEFAULT_HEAP_MIB, DesiredNode
from providers.catalogs import catalog

GENERATION_LEAP = 100
BROKER_ID_LEAP = 1000
"""Where a cloud forgets what was terminated, what is new begins so far above what is seen."""


@dataclass(frozen=True, slots=True)
class Ids:
    """Service ids by instance key, and the first broker id that nobody has ever had."""

    by_key: Mapping[str, int]
    next_broker_id: int


@dataclass(frozen=True, slots=True)
class PlacedInstance:
    """An instance as it is taken over; `differs` names what is not as the spec has it, `assumed` what nobody told."""

    planned: facts.PlannedInstance
    differs: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()


def is_controller(found: FoundCluster, vm: FoundVm, desired: Mapping[str, DesiredNode]) -> bool:
    """By its agent's document, else by the spec, else by its owning an address."""
    if vm.service is not None:
        return vm.service.name == "controller"
    wanted = desired.get(vm.seen.node)
    return wanted.service == "controller" if wanted else vm.seen.node in found.node_addresses


def successors_of(found: FoundCluster, *, reattach: bool) -> frozenset[str]:
    """Brokers that were made to take over a disk, whose agents were told nothing so far: they have it already, whatever
    the strategy, or have none yet."""
    return frozenset(
        vm.key
        for vm in found.vms
        if vm.service is None
        and (
            _taken_over(found, vm)
            or _elder_let_go(found, vm)
            or (reattach and not vm.seen.volumes and _elders(found, vm) and not _free_volumes(found, vm))
        )
    )


def spent_nodes(found: FoundCluster, desired: Mapping[str, DesiredNode]) -> tuple[facts.SpentNode, ...]:
    """What each node has used up. A volume's version never passes its node's generation."""
    highest = dict(found.spent or {})
    for vm in found.vms:
        highest[vm.seen.node] = max(highest.get(vm.seen.node, 0), vm.seen.generation)
    leap = 0 if found.spent is not None else GENERATION_LEAP
    versions: dict[str, int] = {}
    for key in found.volumes:
        node, _, version = key.rpartition(".v")
        node = node.rpartition(".")[0]
        versions[node] = max(versions.get(node, 0), int(version))
    nodes = sorted({*highest, *versions, *(desired if leap else ())})
    spent = {n: highest.get(n, 0) + leap for n in nodes}
    return tuple(facts.SpentNode(n, spent[n], max(versions.get(n, 0), spent[n])) for n in nodes)


def service_ids(found: FoundCluster, desired: Mapping[str, DesiredNode], successors: Collection[str] = ()) -> Ids:
    """Ids from documents, from the quorum and from brokers' addresses; a broker nobody ever started gets a new one.

    Whether it was started nobody knows while Kafka does not answer, or has a broker that is on no VM: then it gets
    none. With a new id it would be taken for one that does not join, and stopped while it serves.
    """
    by_key = {vm.key: vm.service.node_id for vm in found.vms if vm.service}
    voters = {plain_host(v.address): v.id for vm in found.vms if vm.service for v in vm.service.voters}
    hosts = _brokers_by_host(found)
    controllers = {vm.seen.node for vm in found.vms if is_controller(found, vm, desired)}
    fresh = count(_next_broker_id(found, controllers))
    may_be_new = found.kafka is not None and not homeless_brokers(found)
    for vm in sorted(found.vms, key=lambda v: (v.seen.generation, v.seen.node)):
        if vm.key in by_key:
            continue
        registered = hosts.get(plain_host(vm.seen.address or ""), -1)
        if vm.seen.node in controllers:
            known = _controller_id(found, vm, voters, by_key)
        elif registered >= 0:
            known = registered
        elif vm.key in successors:
            elders = _taken_over(found, vm) or _elders(found, vm)
            known = max(by_key.get(elder.key, -1) for elder in elders)
        else:
            known = next(fresh) if may_be_new else -1
        if known >= 0:
            by_key[vm.key] = known
    return Ids(by_key, next(fresh))


def homeless_brokers(found: FoundCluster) -> tuple[int, ...]:
    """Brokers that Kafka has registered, and of which neither an agent's document nor an address tells the VM."""
    told = {vm.service.node_id for vm in found.vms if vm.service and vm.service.name == "broker"}
    addresses = {plain_host(vm.seen.address or "") for vm in found.vms if vm.service is None}
    brokers = found.kafka.brokers.values() if found.kafka is not None else ()
    return tuple(sorted(b.id for b in brokers if b.id not in told and plain_host(b.host) not in addresses))


def place(
    found: FoundCluster,
    vm: FoundVm,
    desired: DesiredNode | None,
    ids: Ids,
    *,
    config: Mapping[str, str] = MappingProxyType({}),
    is_successor: bool = False,
) -> PlacedInstance:
    """The instance. Without a document what nobody tells is taken from the spec.

    `config` are the settings the spec itself has: what Kedge sets by a cluster's size makes no other VM.
    """
    service, seen = vm.service, vm.seen
    kind = service.name if service else desired.service if desired else _kind(found, vm)
    volumes = _volumes(found, vm, desired, takes_over=is_successor or kind == "controller")
    version = service.kafka_version if service else seen.image or (desired.kafka_version if desired else "")
    settings = dict(service.settings if service else desired.settings if desired else {})
    default = desired.jvm if desired else Jvm(DEFAULT_HEAP_MIB[kind])
    jvm = Jvm(service.heap_mib, service.jvm_options) if service else default
    took_over = kind == "controller" or any(v.version < seen.generation for v in volumes)
    hands_over = is_successor or (seen.generation > 1 and took_over)
    new_dirs = tuple(d.name for d in service.log_dirs if d.fresh) if service and hands_over and len(volumes) > 1 else ()
    moved_from = _moved_from(found, vm) if kind == "controller" else ""
    planned = facts.PlannedInstance(
        node=seen.node,
        generation=seen.generation,
        pool=_pool(vm, desired),
        rack=seen.zone,
        index=int(seen.node.rpartition("-")[2]),
        service=kind,
        service_id=ids.by_key[vm.key],
        digest="",
        kafka_version=version,
        shape=seen.shape or (desired.shape if desired else ""),
        heap_mib=jvm.heap_mib,
        settings=settings,
        volumes=volumes,
        replaces=max((v.seen.generation for v in _elders(found, vm)), default=0),
        handover=hands_over,
        new_dirs=new_dirs,
        place=_place(vm, desired),
        spot=seen.spot,
        ipv6=bool(seen.ipv6),
        new_disk=bool(moved_from),
        relieves=moved_from,
        vm_address=kind == "controller" and seen.node not in found.node_addresses,
        port=service.port if service and kind == "broker" else 0,
        jvm_options=jvm.options,
    )
    public = was_made_public(vm, desired)
    differs = _differences(planned, desired, public=public)
    if desired is None or differs:
        # Nothing a spec could say has this digest: it is another VM.
        return PlacedInstance(
            replace(planned, digest=derived_id("digest", repr(planned))[:12]), differs, _assumed(vm, desired)
        )
    return PlacedInstance(*_as_it_was_made(planned, jvm, desired, config), _assumed(vm, desired))


def _as_it_was_made(
    planned: facts.PlannedInstance, jvm: Jvm, desired: DesiredNode, config: Mapping[str, str]
) -> tuple[facts.PlannedInstance, tuple[str, ...]]:
    """With the digest of what it was made with, and how that differs from the spec."""
    settings, size = planned.settings, planned.volumes[0].size_gib
    others = (*_other_jvm(jvm, desired.jvm), *_other_settings(settings, desired.settings, config))
    if not others:
        digest = desired.digest if size == desired.disks.gib else desired.digest_with(config, size)
        return replace(planned, digest=digest), ()
    had = {k: settings[k] for k in sorted(_judged(settings, desired.settings, config)) if k in settings}
    same_heap = jvm.heap_mib == desired.heap_mib
    digest = desired.digest_with(had, size) if same_heap else desired.digests_with_heap(had, size, jvm.heap_mib)[0]
    return replace(planned, digest=digest, config=had), others


def _moved_from(found: FoundCluster, vm: FoundVm) -> str:
    """From whom it was to take over, or has: it has a disk of its own, and one before it has another."""
    own = set(vm.seen.volumes)
    elders = [v for v in _elders(found, vm) if own and v.service is not None and v.seen.volumes]
    elders = [v for v in elders if not own & set(v.seen.volumes)]
    return max(elders, key=lambda v: v.seen.generation).key if elders else ""


def _place(vm: FoundVm, desired: DesiredNode | None) -> facts.PlannedPlace | None:
    """Where it lives, if its pool is to be elsewhere: it was on its way when the history was lost."""
    at = vm.place
    if at is None or (desired is not None and str(at) == desired.place):
        return None
    return facts.PlannedPlace(at.cloud, at.region, at.account, at.network)


def was_made_public(vm: FoundVm, desired: DesiredNode | None) -> bool:
    """Whether it has a public address because its pool asks for that: where nobody can ask, all have one."""
    cloud = vm.place.cloud if vm.place is not None else desired.place.partition("/")[0] if desired is not None else ""
    return bool(vm.seen.public_address) and (not cloud or not catalog(cloud).no_public_address)


def _next_broker_id(found: FoundCluster, controllers: set[str]) -> int:
    """Above all that is seen; and each generation of a broker's node has spent one id at most."""
    seen = {vm.service.node_id for vm in found.vms if vm.service and vm.service.name == "broker"}
    if found.kafka is not None:
        seen |= set(found.kafka.brokers)
        seen |= {r for p in found.kafka.partitions for r in (*p.replicas, *p.adding, *p.removing)}
    above = max(seen, default=FIRST_BROKER_ID - 1) + 1
    if found.spent is None:
        return above + BROKER_ID_LEAP
    spent = sum(generation for node, generation in found.spent.items() if node not in controllers)
    return max(above, FIRST_BROKER_ID + spent)


def _controller_id(found: FoundCluster, vm: FoundVm, voters: Mapping[str, int], known: Mapping[str, int]) -> int:
    """-1 when nothing tells."""
    siblings = (known[v.key] for v in found.vms if v.seen.node == vm.seen.node and v.key in known)
    by_sibling = next(siblings, -1)
    if by_sibling >= 0:
        return by_sibling
    by_address = voters.get(plain_host(found.node_addresses.get(vm.seen.node, "")), -1)
    if by_address >= 0 or found.kafka is None:
        return by_address
    directories = {kafka_uuid("directory", found.uid, key) for key in _keys_of_node(found, vm)}
    return next((m.id for m in found.kafka.quorum.members if m.directory_id in directories), -1)


def _kind(found: FoundCluster, vm: FoundVm) -> str:
    return "controller" if vm.seen.node in found.node_addresses else "broker"


def _pool(vm: FoundVm, desired: DesiredNode | None) -> str:
    """Nodes are `<pool>-<zone>-<index>`, and both pools and zones may have dashes."""
    if desired is not None:
        return desired.pool
    slot = vm.seen.node.rpartition("-")[0]
    return slot.removesuffix(f"-{vm.seen.zone}")


def _keys_of_node(found: FoundCluster, vm: FoundVm) -> list[str]:
    """Volumes of the node, the newest first: those that are listed, and those an agent was told of."""
    volumes = {d.volume for v in found.vms if v.seen.node == vm.seen.node and v.service for d in v.service.log_dirs}
    keys = {k for k in {*found.volumes, *vm.seen.volumes} if k.rpartition(".v")[0].rpartition(".")[0] == vm.seen.node}
    return sorted(keys | volumes, key=_version, reverse=True)


def _elders(found: FoundCluster, vm: FoundVm) -> list[FoundVm]:
    return [v for v in found.vms if v.seen.node == vm.seen.node and v.seen.generation < vm.seen.generation]


def _taken_over(found: FoundCluster, vm: FoundVm) -> list[FoundVm]:
    """Elders whose agents were told to serve from a disk this one has now: what is on it is theirs, and their id."""
    own = set(vm.seen.volumes)
    return [v for v in _elders(found, vm) if v.service and own & {d.volume for d in v.service.log_dirs}]


def _brokers_by_host(found: FoundCluster) -> Mapping[str, int]:
    """The ids that Kafka has registered, by the host each said; nothing while it does not answer."""
    return {plain_host(b.host): b.id for b in found.kafka.brokers.values()} if found.kafka is not None else {}


def _elder_let_go(found: FoundCluster, vm: FoundVm) -> bool:
    """Whether the VM before it is a broker by Kafka's word and has no disk any more, while there is one for this VM: no
    other VM is made without one of its own before the one before has let its disk go."""
    elders = _elders(found, vm)
    if not elders or not (vm.seen.volumes or _free_volumes(found, vm)):
        return False
    elder = max(elders, key=lambda v: v.seen.generation)
    return (
        elder.service is None
        and not elder.seen.volumes
        and plain_host(elder.seen.address or "") in _brokers_by_host(found)
    )


def _free_volumes(found: FoundCluster, vm: FoundVm) -> list[str]:
    """Volumes of the node that no other VM of it has or was told of."""
    others = [v for v in found.vms if v.seen.node == vm.seen.node and v.key != vm.key]
    taken = {k for v in others for k in v.seen.volumes}
    taken |= {d.volume for v in others if v.service for d in v.service.log_dirs}
    return [k for k in _keys_of_node(found, vm) if k not in taken]


def _volumes(
    found: FoundCluster, vm: FoundVm, desired: DesiredNode | None, *, takes_over: bool
) -> tuple[facts.PlannedVolume, ...]:
    """As its document has them, else those on it, else one that is free; `takes_over`: the newest of its node."""
    if vm.service is not None:
        told = {d.volume: d.directory_id for d in vm.service.log_dirs}
    else:
        newest = _newest(_keys_of_node(found, vm) if takes_over else _free_volumes(found, vm))
        # A VM that was caught half made: its own disks were still to come, and never another one's.
        directories = directory_names(desired.disks.count if desired else 1)
        to_come = [f"{vm.seen.node}.{directory}.v{vm.seen.generation}" for directory in directories]
        keys = vm.seen.volumes or newest or to_come
        told = {k: kafka_uuid("directory", found.uid, k) for k in keys}
    return tuple(_volume(found, key, directory, desired) for key, directory in told.items())


def _newest(keys: Sequence[str]) -> list[str]:
    """The first of each directory in keys that have the newest first, `data` before `data2`."""
    by_directory = {_directory(key): key for key in reversed(keys)}
    return [by_directory[directory] for directory in sorted(by_directory)]


def _directory(key: str) -> str:
    return key.split(".")[-2]


def _volume(found: FoundCluster, key: str, directory_id: str, desired: DesiredNode | None) -> facts.PlannedVolume:
    listed = found.volumes.get(key)
    kind = "persistent" if listed else desired.disks.kind if desired else "ephemeral"
    size = listed.size_gib if listed else desired.disks.gib if desired else 1
    # No listing tells type and figures. Taken for other ones than the spec's, every broker would get a new disk.
    options = desired.disks.options if desired else None
    return facts.PlannedVolume(key, _directory(key), _version(key), kind, size, directory_id, options)


def _version(key: str) -> int:
    return int(key.rpartition(".v")[2])


def _differences(planned: facts.PlannedInstance, desired: DesiredNode | None, *, public: bool) -> tuple[str, ...]:
    """What makes it another VM than the spec asks for; settings alone do not, nor a disk that grows to its size."""
    if desired is None:
        return ("the spec has no such node",)
    volume = planned.volumes[0]
    pairs = (
        ("Kafka", planned.kafka_version, desired.kafka_version),
        ("machine", planned.shape, desired.shape),
        ("pre-emptible VM", planned.spot, desired.spot),
        ("IPv6", planned.ipv6, desired.addresses.ipv6),
        ("public address", public, desired.addresses.public),
        ("rack", planned.rack, desired.rack),
        ("service", planned.service, desired.service),
        ("disk", volume.kind, desired.disks.kind),
        ("disk GiB", desired.disks.gib if _grows(volume, desired) else volume.size_gib, desired.disks.gib),
        ("disks", len(planned.volumes), desired.disks.count),
    )
    return tuple(f"{what} {have}, the spec says {want}" for what, have, want in pairs if have != want)


def _other_jvm(have: Jvm, want: Jvm) -> list[str]:
    heap = [f"heap {have.heap_mib} MiB, the spec says {want.heap_mib}"] if have.heap_mib != want.heap_mib else []
    has, wants = (" ".join(jvm.options) or "none" for jvm in (have, want))
    return [*heap, *([f"JVM options {has}, the spec says {wants}"] if has != wants else [])]


def _grows(volume: facts.PlannedVolume, desired: DesiredNode) -> bool:
    """Whether the disk becomes what the spec says where it is."""
    return desired.disks.grows and volume.kind == "persistent" and volume.size_gib < desired.disks.gib


def _other_settings(have: Mapping[str, str], want: Mapping[str, str], config: Collection[str]) -> list[str]:
    keys = sorted(k for k in _judged(have, want, config) if have.get(k) != want.get(k))
    return [f"{k}={have.get(k, 'unset')}, the spec says {want.get(k, 'unset')}" for k in keys]


def _judged(have: Mapping[str, str], want: Mapping[str, str], config: Collection[str]) -> set[str]:
    """Settings that are the spec's: those it names, and those it must have named before."""
    return {*config, *(k for k in have if k not in want)}


def _assumed(vm: FoundVm, desired: DesiredNode | None) -> tuple[str, ...]:
    unknown = [] if vm.service else ["heap", "settings"]
    unknown += [] if vm.service or vm.seen.image else ["Kafka version"]
    unknown += [] if vm.seen.shape else ["machine"]
    return tuple(unknown) if desired else ()
