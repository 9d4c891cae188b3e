"""What people ask for single nodes, on real brokers under an audited workload: a new VM, an empty broker."""

import pytest

from controlplane.api.schemas import moves as move_api, nodes as node_api
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(400)]

SPEC = ClusterSpec(name="asked", sizes={"one": 1, "two": 1, "three": 2})


def test_a_broker_is_emptied_serves_on_and_receives_again_once_it_is_readmitted(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    before, vms, broker = cluster.head(), cluster.vms(), cluster.instance("three-c-0").service_id
    with traffic(cluster.bootstrap):
        cluster.until(lambda: cluster.snapshot().hosted_by(broker) or None, "it to hold something", timeout_s=30)
        # The server's own metadata is up to a minute old at rest: the request is judged by what it says.
        said = cluster.client.evacuate(SPEC.name, move_api.EvacuateIn(brokers=[broker], reason="noises"))
        assert "three-c-0.g1 will be emptied and kept empty" in said.sentence
        cluster.event("evacuation.completed", before)
        settled(cluster)
        assert cluster.snapshot().hosted_by(broker) == ()
        assert broker in cluster.snapshot().live_brokers()
    assert cluster.vms() == vms
    assert cluster.client.readmit(SPEC.name, node_api.BrokersIn(brokers=[broker])).changed
    settled(cluster)


def test_a_broker_is_replaced_because_somebody_asked(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    before, old = cluster.head(), cluster.instance("one-a-0")
    with traffic(cluster.bootstrap):
        cluster.client.replace(SPEC.name, node_api.ReplaceIn(broker=old.service_id, reason="slow disk"))
        cluster.event("replacement.completed", before)
        settled(cluster)
    new = cluster.instance("one-a-0")
    assert (new.generation, new.service_id > old.service_id) == (old.generation + 1, True)
    surged = [e.data["reason"] for e in cluster.events(before) if e.type == "surge.requested"]
    assert surged == ["one-a-0: asked by e2e: slow disk"]
    told = cluster.client.rolls(SPEC.name).rolls[0]
    assert (told.state, [(s.node, s.change, s.state) for s in told.steps]) == (
        "done",
        [("one-a-0", "replace", "done")],
    )
