"""One found cluster and its spec become the facts that describe what runs, and the report on them. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from controlplane.cluster.fold import fold
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.sized_nodes import sized_nodes
from controlplane.cluster.view import TLS_CONTROLLER_PORT, ClusterView, empty_view
from controlplane.converger.questions.quorum.quorum_ports import CONTROLLER_PORT
from controlplane.converger.questions.rolls.pending_changes import pending_changes
from controlplane.converger.questions.running.setting_work import setting_work
from controlplane.converger.tick.cluster_tick import new_events
from controlplane.kafka.features import METADATA, metadata_level_of, next_feature_step
from controlplane.server.rebuild.evidence import DeclaredSpec, FoundCluster, FoundVm, RebuildFinding, Weight
from controlplane.server.rebuild.instances import (
    PlacedInstance,
    homeless_brokers,
    is_controller,
    place,
    service_ids,
    spent_nodes,
    successors_of,
    was_made_public,
)
from controlplane.server.rebuild.refusals import finalised_level, identity_refusals, place_refusals
from controlplane.server.rebuild.remarks import (
    remarks_on_certificates,
    remarks_on_kafka,
    remarks_on_release,
    remarks_on_vms,
)
from controlplane.server.rebuild.status import status_of
from controlplane.storage.streams import cluster_stream
from events import facts
from events.envelope import Recorded
from events.ids import ClusterUid
from events.spec.conversion import to_data
from events.spec.settings import spec_config
from events.spec.storage_rules import with_grown_disks
from planner.rollout.desired import DesiredNode, desired_nodes
from planner.rollout.diff import Change
from providers.base import InstanceState

_ONE = "Of its two VMs terminate the one whose controller has no vote (`kedge rebuild` again then)."
_LOOK_AGAIN = "Look again when Kafka answers or the agents' disks can be read."
_LEAVE_TO_CLOUD = "Nothing is stored on it: leave it out, terminate its VMs in the cloud, apply its spec anew."


class TooLittleKnown(Exception):
    """What is left of the cluster does not say what runs. What now: `next_step`."""

    def __init__(self, message: str, next_step: str) -> None:
        super().__init__(message)
        self.next_step = next_step


@dataclass(frozen=True, slots=True)
class RebuiltCluster:
    """A cluster that was matched. `facts` are to be recorded in this order; empty when something refuses."""

    uid: ClusterUid
    name: str
    file: str
    facts: tuple[object, ...]
    view: ClusterView
    findings: tuple[RebuildFinding, ...]

    @property
    def refused(self) -> bool:
        return any(f.weight is Weight.REFUSES for f in self.findings)


def rebuild_cluster(found: FoundCluster, spec: DeclaredSpec, *, now: datetime) -> RebuiltCluster:
    """One cluster. Its facts are folded at once: what is reported is what will be recorded, nothing else."""
    refusals = [*place_refusals(found, spec), *identity_refusals(found)]
    if refusals:
        return _refused(found, spec, refusals)
    try:
        recorded, remarks = _facts(found, spec)
    except TooLittleKnown as unknown:
        return _refused(found, spec, [RebuildFinding(Weight.REFUSES, found.name, str(unknown), unknown.next_step)])
    view = _folded(found.uid, recorded, now)
    if view.history.unreadable:
        why = RebuildFinding(
            Weight.REFUSES, found.name, f"what was found does not fit together: {view.history.unreadable}"
        )
        return _refused(found, spec, [why, *remarks])
    if _is_reached(found, view):
        recorded = tuple(replace(f, reached=True) if isinstance(f, facts.ClusterAdopted) else f for f in recorded)
        view = _folded(found.uid, recorded, now)
    findings = (*remarks, *remarks_on_release(found, view), *remarks_on_certificates(found))
    return RebuiltCluster(found.uid, spec.name, spec.file, recorded, view, findings)


def _refused(found: FoundCluster, spec: DeclaredSpec, findings: Sequence[RebuildFinding]) -> RebuiltCluster:
    return RebuiltCluster(found.uid, spec.name, spec.file, (), empty_view(found.uid), tuple(findings))


def _facts(found: FoundCluster, spec: DeclaredSpec) -> tuple[tuple[object, ...], tuple[RebuildFinding, ...]]:
    if all(vm.document is not None and vm.service is None for vm in found.vms):
        raise TooLittleKnown("no agent was ever told to run anything: it was being born", _LEAVE_TO_CLOUD)
    grown = _grown(found, spec)
    desired = {n.node: n for n in _wanted(found, spec, {g.pool: g.size_gib for g in grown})}
    successors = successors_of(found, reattach=spec.document.spec.rollout.strategy == "reattach")
    ids = service_ids(found, desired, successors)
    if two := _in_two_places(found, desired):
        raise TooLittleKnown(f"nothing tells which of two addresses {two} has: it was moving to another place", _ONE)
    nameless = [vm.key for vm in found.vms if vm.key not in ids.by_key]
    if nameless:
        message = f"nothing tells which id {', '.join(nameless)} runs under"
        if homeless := homeless_brokers(found):
            message += f", and Kafka has brokers {', '.join(map(str, homeless))}, whose hosts are the address of no VM"
        raise TooLittleKnown(message, _LOOK_AGAIN)
    placed = {
        vm.key: place(
            found,
            vm,
            wanted := desired.get(vm.seen.node),
            ids,
            config=spec_config(spec.document, wanted.pool if wanted else ""),
            is_successor=vm.key in successors,
        )
        for vm in found.vms
    }
    adopted = facts.ClusterAdopted(
        found_by=_sources(found),
        next_broker_id=ids.next_broker_id,
        spent=spent_nodes(found, desired),
        node_addresses=dict(sorted(found.node_addresses.items())),
        reached=False,
    )
    founded = _founding(found, placed)
    instances = [
        _adopted(found, vm, placed, desired.get(vm.seen.node))
        for vm in sorted(found.vms, key=lambda v: (v.seen.node, v.seen.generation))
    ]
    level = finalised_level(found)
    finalised = (facts.FeatureFinalised(METADATA, level),) if level else ()
    remarks = (*remarks_on_vms(placed), *remarks_on_kafka(found, ids.by_key))
    declared = facts.ClusterDeclared(found.uid, spec.name, 1, to_data(spec.document), f"{spec.file}: rebuilt")
    believed = (found.authorities,) if spec.document.spec.security.internal == "tls" and found.authorities else ()
    return (declared, *grown, adopted, founded, *believed, *instances, *finalised), remarks


def _grown(found: FoundCluster, spec: DeclaredSpec) -> tuple[facts.GrowthDecided, ...]:
    """What the disks of pools have grown to by themselves: where the spec lets them, the largest that is listed counts.
    Taken for too large, every broker would get a new disk."""
    pools = {pool.name: pool for pool in spec.document.spec.pools if pool.disk.grow is not None}
    pool_of = {node.node: node.pool for node in desired_nodes(spec.document) if node.pool in pools}
    largest: dict[str, int] = {}
    for key, volume in found.volumes.items():
        pool = pool_of.get(key.rpartition(".v")[0].rpartition(".")[0])
        if pool is not None:
            largest[pool] = max(largest.get(pool, 0), volume.size_gib)
    return tuple(
        facts.GrowthDecided(name, pool.disk.size_gib, largest[name], "found so")
        for name, pool in pools.items()
        if pool.disk.grow is not None and pool.disk.size_gib < largest.get(name, 0) <= pool.disk.grow.to
    )


def _wanted(found: FoundCluster, spec: DeclaredSpec, grown: Mapping[str, int]) -> tuple[DesiredNode, ...]:
    """The nodes of the spec, sized by their machines where any VM was: its agent was told Java's options. `grown`: what
    disks of its pools have grown to."""
    sized = any(vm.service is not None and vm.service.jvm for vm in found.vms)
    document = with_grown_disks(spec.document, grown)
    return sized_nodes(document) if sized else desired_nodes(document)


def _size(vm: FoundVm, desired: DesiredNode | None) -> facts.PlannedSize | None:
    """As its agent was told; where that cannot be read, as its machine has it."""
    size = desired.size if desired is not None else None
    if vm.service is not None and vm.service.jvm:
        return facts.PlannedSize(vm.service.jvm, size.member_jvm if size is not None else ())
    return facts.PlannedSize(size.jvm, size.member_jvm) if vm.service is None and size is not None else None


def _in_two_places(found: FoundCluster, desired: Mapping[str, DesiredNode]) -> str:
    """A controller's node with a VM here and one there, each with an address of its own; "" where there is none."""
    places: dict[str, set[str]] = {}
    for vm in found.vms:
        if vm.place is not None and vm.seen.state is not InstanceState.GONE and is_controller(found, vm, desired):
            places.setdefault(vm.seen.node, set()).add(str(vm.place))
    return next((node for node in sorted(places) if len(places[node]) > 1), "")


def _adopted(
    found: FoundCluster, vm: FoundVm, placed: Mapping[str, PlacedInstance], desired: DesiredNode | None
) -> facts.InstanceAdopted:
    planned = placed[vm.key].planned
    siblings = [p.planned for k, p in placed.items() if k != vm.key and p.planned.node == planned.node]
    status = status_of(found, vm, planned, siblings)
    start = vm.service.start_id.rpartition("-")[2] if vm.service else ""
    return facts.InstanceAdopted(
        planned=planned,
        intent=vm.seen.intent_id,
        cloud_id=vm.seen.id,
        address=vm.seen.address or "",
        phase=str(status.phase),
        starts=int(start) if start.isdecimal() else 1,
        bound=status.bound,
        drained=status.drained,
        size=_size(vm, desired),
        public=was_made_public(vm, desired),
    )


def _founding(found: FoundCluster, placed: Mapping[str, PlacedInstance]) -> facts.QuorumFounded:
    service = next((vm.service for vm in found.vms if vm.service), None)
    nodes = {p.planned.service_id: p.planned for p in placed.values() if p.planned.service == "controller"}
    if service is not None:
        voters = tuple(
            facts.FoundingVoter(nodes[v.id].node if v.id in nodes else "", v.id, v.address, v.port, v.directory_id)
            for v in service.voters
        )
        first_ids = (vm.service.first_producer_id for vm in found.vms if vm.service)
        first_id = next((first for first in first_ids if first is not None), None)
        return facts.QuorumFounded(service.cluster_id, service.metadata_level, voters, first_id)
    if found.kafka is None:
        raise TooLittleKnown(
            "no agent's document can be read, and Kafka does not answer: no quorum is known", _LOOK_AGAIN
        )
    port = CONTROLLER_PORT if found.authorities is None else TLS_CONTROLLER_PORT
    voters = tuple(
        facts.FoundingVoter(p.node, i, found.node_addresses.get(p.node, ""), port, p.volumes[0].directory_id)
        for i, p in sorted(nodes.items())
    )
    version = next(iter(nodes.values())).kafka_version
    return facts.QuorumFounded(found.kafka.cluster_id, ".".join(version.split(".")[:2]), voters)


def _folded(uid: ClusterUid, recorded: Sequence[object], now: datetime) -> ClusterView:
    events = new_events(cluster_stream(uid), 0, recorded)
    history = (
        Recorded(n, cluster_stream(uid), n, e.event_id, e.type, e.schema, e.data, "rebuild", None, None, 0, now)
        for n, e in enumerate(events, start=1)
    )
    return fold(empty_view(uid), history)


def _is_reached(found: FoundCluster, view: ClusterView) -> bool:
    """Whether nothing at all is left to do: then the first tick after the release finds just that."""
    kafka, document = found.kafka, view.document
    if kafka is None or document is None or any(c.change is not Change.KEEP for c in pending_changes(view)):
        return False
    if setting_work(view) is not None:
        return False
    if any(i.phase is not Phase.JOINED for i in view.alive()) or len({i.node for i in view.alive()}) < len(
        view.alive()
    ):
        return False
    if any(vm.seen.state is not InstanceState.RUNNING for vm in found.vms):
        return False
    target = document.spec.kafka.metadata_version or document.spec.kafka.version
    serving = {i.service_id for i in view.brokers()} == kafka.live_brokers()
    return serving and next_feature_step(kafka, metadata_level_of(target)) is None


def _sources(found: FoundCluster) -> str:
    documents = sum(vm.document is not None for vm in found.vms)
    kafka = "Kafka" if found.kafka else "not Kafka, which did not answer"
    places = ", ".join(map(str, found.places))
    return f"the tags of {len(found.vms)} VMs in {places}, {documents} agents' documents and {kafka}"
