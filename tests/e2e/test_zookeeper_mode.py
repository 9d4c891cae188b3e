"""A cluster in ZooKeeper mode on real VMs of the local cloud: founded, rolled to a newer Kafka, and mended, under
traffic."""

from dataclasses import replace

import pytest

from controlplane.api.schemas import chaos as chaos_api
from tests.e2e.cluster_spec import CONTROLLERS, ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(460)]

SPEC = ClusterSpec(name="keeping", version="3.8.1", quorum="zookeeper", controllers=3, join_deadline_s=120)


def test_a_zookeeper_cluster_rolls_to_the_next_kafka_and_raises_its_protocol_last(
    living_cluster: LivingCluster,
) -> None:
    cluster, before = living_cluster, living_cluster.head()
    kinds = [e.type for e in cluster.events()]
    assert kinds.index("ensemble.founded") < kinds.index("ensemble.cluster_id_fixed") < kinds.index("instance.joined")
    was = {i.node: (i.service_id, i.address) for i in cluster.detail().instances if i.service == "zookeeper"}
    founded = next(e for e in cluster.events() if e.type == "ensemble.founded").data["kafka_cluster_id"]
    with traffic(cluster.bootstrap):
        cluster.declare(replace(SPEC, version="3.9.1"))
        settled(cluster, within_s=400)
    now = cluster.detail().instances
    assert {i.node: (i.service_id, i.address) for i in now if i.service == "zookeeper"} == was
    assert {i.generation for i in now} == {2}
    rolled = [e.type for e in cluster.events(before)]
    assert rolled.count("replacement.completed") == 6
    assert rolled.index("protocol.raised") < rolled.index("restart.requested")
    assert rolled.count("restart.completed") == 3
    assert cluster.snapshot().cluster_id == founded
    for i in now:
        if i.service == "broker":
            properties = cluster.vm(i.key).rglob("server.properties")
            assert "inter.broker.protocol.version=3.9" in next(properties).read_text()


def test_a_zookeeper_server_that_dies_is_handed_over_with_its_id_and_address(living_cluster: LivingCluster) -> None:
    cluster, before = living_cluster, living_cluster.head()
    victim = next(i for i in cluster.detail().instances if i.node.startswith(CONTROLLERS))
    with traffic(cluster.bootstrap):
        cluster.power_cut(victim.key)
        cluster.event("replacement.completed", before, where=victim.node)
        settled(cluster)
    successor = cluster.instance(victim.node)
    assert (successor.service_id, successor.address) == (victim.service_id, victim.address)
    assert successor.generation == victim.generation + 1
    assert not [e for e in cluster.events(before) if e.type.startswith("voter.")], "the ensemble is what it was"


def test_a_zookeeper_server_whose_process_is_killed_is_started_again_by_its_agent(
    living_cluster: LivingCluster,
) -> None:
    cluster, before = living_cluster, living_cluster.head()
    victim = next(i for i in cluster.detail().instances if i.node.startswith(CONTROLLERS))
    pids = set(cluster.pids(victim.key))
    with traffic(cluster.bootstrap):
        order = chaos_api.ChaosIn(fault="kill-zookeeper", vms=[victim.key], for_s=10, reason="e2e")
        cluster.client.inject_chaos(cluster.spec.name, order)
        cluster.event("chaos.ended", before)
        settled(cluster)
    assert cluster.instance(victim.node).key == victim.key
    now = set(cluster.pids(victim.key))
    assert pids - now, "a process was killed"
    assert now - pids, "and another one runs"
