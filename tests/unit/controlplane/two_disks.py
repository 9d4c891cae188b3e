"""`orders`, as `a_view` has it, with two disks in each broker."""

from typing import Any

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from planner.rollout.desired import desired_nodes
from tests.builders import a_document, a_view, a_volume, an_instance

TWO = a_document(disks=", count: 2")


def a_broker(
    node: str = "brokers-a-0", generation: int = 1, phase: Phase = Phase.JOINED, **overrides: Any
) -> InstanceView:
    """As declared, with the version of both disks that its generation brings."""
    volumes = tuple(a_volume(node, generation, d) for d in ("data", "data2"))
    digest = {n.node: n for n in desired_nodes(TWO)}[node].digest
    return an_instance(node, generation, phase, **{"volumes": volumes, "digest": digest, **overrides})


def a_view_of_two(*instances: InstanceView, **overrides: Any) -> ClusterView:
    brokers = (a_broker(f"brokers-{rack}-0") for rack in "abc")
    return a_view(*brokers, *instances, **{"document": TWO, **overrides})
