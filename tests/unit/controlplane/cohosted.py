"""A cluster at rest whose ZooKeeper servers share the VMs of its brokers."""

from datetime import datetime

from controlplane.cluster.fold import evolve
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from events import facts
from events.codec import encode
from events.envelope import Recorded
from planner.rollout.desired import desired_nodes
from tests.builders import a_cohosted_document, a_view, an_instance
from tests.changed_view import changed_view

NODES = ("brokers-a-0", "brokers-b-0", "brokers-c-0")
B1, B2 = "brokers-b-0.g1", "brokers-b-0.g2"


def a_host(node: str, server: int, generation: int = 1, phase: Phase = Phase.JOINED, **changes: object) -> InstanceView:
    member = facts.PlannedMember(server, f"zookeeper-{server}", 128)
    wanted = {"listed": frozenset({100, 101, 102}), "protocol": "3.8", **changes}
    digest = desired_nodes(a_cohosted_document())[0].digest
    return an_instance(node, generation, phase, member=member, kafka_version="3.8.1", digest=digest, **wanted)


def voter_of(host: InstanceView) -> facts.FoundingVoter:
    member = host.planned.member
    assert member is not None
    return facts.FoundingVoter(host.node, member.service_id, host.address, 2181, member.directory_id)


def a_sharing_view(*more: InstanceView, **changes: object) -> ClusterView:
    """Three brokers with servers 100 to 102 beside them, at rest on 3.8.1."""
    hosts = [a_host(node, 100 + n) for n, node in enumerate(NODES)]
    there = {h.key: h for h in (*hosts, *more)}
    voters = {v.id: v for v in map(voter_of, hosts)}
    founding = facts.QuorumFounded("kafka-cluster", "3.8", tuple(voters.values()))
    values = {
        "document": a_cohosted_document(),
        "instances": there,
        "founding": founding,
        "voters": voters,
        "protocol": "3.8",
        "cluster_id_fixed": True,
        "node_addresses": {},
        "controller_ids": {},
    }
    return changed_view(a_view(), **{**values, **changes})


def after(view: ClusterView, fact: object, at: datetime) -> ClusterView:
    """The view once this is recorded, which it can place."""
    new, version = encode(fact, f"e{view.version}"), view.version + 1
    recorded = Recorded(version, "c", version, new.event_id, new.type, new.schema, new.data, "c", None, None, 1, at)
    folded = evolve(view, recorded)
    assert not folded.history.unreadable, folded.history.unreadable
    return folded
