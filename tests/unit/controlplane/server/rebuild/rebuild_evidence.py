"""A running cluster as a rebuild finds it: the VMs of `a_document()`, as the converger would have made them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agent.wire import Document
from controlplane.cluster.lifecycle import SERVING, Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.questions.documents import document_for
from controlplane.server.rebuild.evidence import DeclaredSpec, FoundCluster, FoundVm, RebuildEvidence
from events import facts
from events.ids import ClusterUid, kafka_uuid
from events.spec.model import KafkaClusterDocument
from planner.observed import KafkaSnapshot, VoterSeen
from planner.rollout.desired import desired_nodes
from providers.base import CloudInstance, CloudVolume, InstanceState, Place
from tests.builders import NODES, a_document, a_snapshot, a_view, an_instance
from tests.changed_view import changed_view

UID = ClusterUid("c0ffee00c0ffee00c0ffee00c0ffee00")
PLACE = Place("local", "local-1")


def as_declared(node: str, generation: int = 1, phase: Phase = Phase.JOINED, **overrides: Any) -> InstanceView:
    """An instance with the settings its spec gives it, or with others."""
    wanted = {n.node: n for n in desired_nodes(a_document(brokers=6))}[node]
    fixed = {"settings": dict(wanted.settings), "heap_mib": wanted.heap_mib, "digest": wanted.digest}
    made = an_instance(node, generation, phase, **{**fixed, **overrides})
    volumes = tuple(
        replace(v, directory_id=kafka_uuid("directory", UID, v.key), size_gib=wanted.disks.gib, kind=wanted.disks.kind)
        for v in made.planned.volumes
    )
    return replace(made, planned=replace(made.planned, volumes=volumes))


def what_ran(*instances: InstanceView) -> ClusterView:
    """The fold that was lost: six instances at rest unless told otherwise."""
    present = instances or tuple(as_declared(n) for n in NODES)
    controllers = [i for i in present if not i.is_broker and i.planned.generation == 1]
    addresses = {i.node: f"127.64.9.{i.service_id}" for i in present if not i.is_broker}
    voters = tuple(
        facts.FoundingVoter(i.node, i.service_id, addresses[i.node], 9093, i.planned.volumes[0].directory_id)
        for i in controllers
    )
    founded = facts.QuorumFounded(kafka_uuid("kafka", UID), "4.1", voters, 3 * 2**44)
    return changed_view(
        a_view(),
        uid=UID,
        instances={i.key: i for i in present},
        node_addresses=addresses,
        founding=founded,
        voters={v.id: v for v in voters},
    )


def found(view: ClusterView | None = None, **overrides: Any) -> FoundCluster:
    """What can be read of it from outside."""
    ran = view or what_ran()
    holders = {v.key: i.key for i in ran.instances.values() if i.bound for v in i.planned.volumes}
    volumes = {
        v.key: CloudVolume(v.key, UID, i.planned.rack, v.size_gib, holders.get(v.key))
        for i in ran.instances.values()
        for v in i.planned.volumes
    }
    values: dict[str, Any] = {
        "uid": UID,
        "name": "orders",
        "places": (PLACE,),
        "vms": tuple(a_vm(ran, i) for i in ran.instances.values()),
        "volumes": volumes,
        "node_addresses": dict(ran.vms.node_addresses),
        "spent": _generations(ran),
        "kafka": a_kafka(ran),
    }
    return FoundCluster(**{**values, **overrides})


def a_vm(view: ClusterView, instance: InstanceView, *, document: bool = True, **overrides: Any) -> FoundVm:
    """One VM as its cloud and its agent's disk tell."""
    told: Document | None = document_for(view, instance.key, epoch=7) if document else None
    values: dict[str, Any] = {
        "id": f"vm-{instance.key}",
        "cluster_uid": UID,
        "node": instance.node,
        "generation": instance.planned.generation,
        "intent_id": instance.intent,
        "zone": instance.planned.rack,
        "state": InstanceState.RUNNING,
        "address": instance.address,
        "volumes": tuple(v.key for v in instance.planned.volumes) if instance.bound else (),
        "addresses": (view.vms.node_addresses[instance.node],) if not instance.is_broker and instance.bound else (),
        "cluster_name": "orders",
        "shape": instance.planned.shape,
        "image": instance.planned.kafka_version,
    }
    return FoundVm(CloudInstance(**{**values, **overrides}), told)


def a_kafka(view: ClusterView) -> KafkaSnapshot:
    """Every broker of the fold serves, at the address of its VM."""
    snapshot = a_snapshot()
    some = next(iter(snapshot.brokers.values()))
    brokers = {
        i.service_id: replace(some, id=i.service_id, rack=i.planned.rack, fenced=False, host=i.address)
        for i in view.brokers()
        if i.phase in SERVING
    }
    members = tuple(
        VoterSeen(i.service_id, i.planned.volumes[0].directory_id, 0, True)
        for i in view.controllers()
        if i.phase is Phase.JOINED
    )
    quorum = replace(snapshot.quorum, members=members)
    return replace(snapshot, cluster_id=kafka_uuid("kafka", UID), brokers=brokers, quorum=quorum)


def a_spec_file(document: KafkaClusterDocument | None = None, file: str = "orders.yaml") -> DeclaredSpec:
    return DeclaredSpec(document or a_document(), file)


def evidence(*clusters: FoundCluster, **overrides: Any) -> RebuildEvidence:
    values: dict[str, Any] = {
        "installation_id": "ours",
        "places": (PLACE,),
        "clusters": clusters or (found(),),
        "specs": (a_spec_file(),),
        "key_fits": True,
    }
    return RebuildEvidence(**{**values, **overrides})


def _generations(view: ClusterView) -> Mapping[str, int]:
    highest: dict[str, int] = {}
    for i in view.instances.values():
        highest[i.node] = max(highest.get(i.node, 0), i.planned.generation)
    return highest
