"""ZooKeeper servers leave the VMs of the brokers for a pool of their own, and the cluster migrates to KRaft from there,
on real VMs of the local cloud, under traffic."""

from dataclasses import replace

import pytest

from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(460)]

SPEC = ClusterSpec(
    name="leaving", version="3.9.1", quorum="zookeeper", cohosted=True, join_deadline_s=120, heal_after_s=5
)
ALONE = replace(SPEC, moved_out=True, quorum_pool="zookeepers", controllers=3)
BROKER, SERVER = "kafka.Kafka", "org.apache.zookeeper.server.quorum.QuorumPeerMain"


def test_servers_beside_brokers_move_to_a_pool_of_their_own(living_cluster: LivingCluster) -> None:
    cluster, before = living_cluster, living_cluster.head()
    brokers = sorted(i.key for i in cluster.detail().instances)
    with traffic(cluster.bootstrap):
        cluster.declare(ALONE)
        settled(cluster, within_s=300)
    told = [e.type for e in cluster.events(before)]
    assert [t for t in told if t in ("voter.added", "restart.requested", "voter.removed")] == [
        *["voter.added"] * 3,
        *["restart.requested"] * 3,
        *["voter.removed"] * 3,
    ]
    there = cluster.detail().instances
    assert {key: len(cluster.running(key, SERVER)) for key in brokers} == dict.fromkeys(brokers, 0)
    assert {key: len(cluster.running(key, BROKER)) for key in brokers} == dict.fromkeys(brokers, 1)
    servers = {f"{i.address}:2181" for i in there if i.service == "zookeeper"}
    assert len(servers) == 3
    for key in brokers:
        [properties] = cluster.vm(key).rglob("server.properties")
        [listed] = [line for line in properties.read_text().splitlines() if line.startswith("zookeeper.connect=")]
        assert all(server in listed for server in servers), "each knows all three that are left"


def test_the_cluster_migrates_to_kraft_from_there(living_cluster: LivingCluster) -> None:
    cluster, before = living_cluster, living_cluster.head()
    if cluster.spec == SPEC:
        cluster.declare(ALONE)
        settled(cluster, within_s=300)
    brokers = sorted(i.key for i in cluster.detail().instances if i.service == "broker")
    with traffic(cluster.bootstrap):
        cluster.declare(replace(ALONE, quorum="controller", quorum_pool="controllers", controllers=1))
        cluster.event("migration.ended", before, within_s=380)
        settled(cluster)
    assert sorted(i.key for i in cluster.detail().instances if i.service == "broker") == brokers
    assert {i.service for i in cluster.detail().instances} == {"broker", "controller"}
