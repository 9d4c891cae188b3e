"""Two of three servers of an ensemble are lost at one time, with a whole Kedge beside them, on real ZooKeeper under
traffic: with their VMs they come back as others, with their disks nothing is changed until one of those is back."""

import time

import pytest

from controlplane.api.schemas import instances as instance_api
from tests.e2e.cluster_spec import CONTROLLERS, ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.running import types_told
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(580)]

SPEC = ClusterSpec(name="orphaned", version="3.9.1", quorum="zookeeper", controllers=3, join_deadline_s=180)
WITHIN_S = 400.0
LEFT_ALONE_S = 40.0
TOUCHED = {"instance.fence_requested", "release.requested", "retire.requested"}
"""What takes something away. A VM that stands by until the vote is free takes nothing from anybody."""


def test_two_servers_whose_vms_are_lost_at_one_time_come_back_with_their_disks(living_cluster: LivingCluster) -> None:
    cluster, before, was = living_cluster, living_cluster.head(), _servers(living_cluster)
    one, two, _ = was
    # Brokers' sessions end while nobody answers them: the fault takes the brokers out of ISRs, not what mends it.
    with traffic(cluster.bootstrap, may_fall_below_min_isr=True):
        for server in (one, two):
            cluster.power_cut(server.key)
        for server in (one, two):
            cluster.event("replacement.completed", before, where=server.node, within_s=WITHIN_S)
        settled(cluster, within_s=WITHIN_S)
    now = _servers(cluster)
    assert [(s.service_id, s.address) for s in now] == [(s.service_id, s.address) for s in was]
    assert [s.generation for s in now] == [one.generation + 1, two.generation + 1, was[2].generation]
    assert not [t for t in types_told(cluster, before) if t.startswith("voter.")], "nobody's vote was touched"


def test_two_servers_that_lost_their_disks_are_left_alone_until_one_has_its_disk_again(
    living_cluster: LivingCluster,
) -> None:
    cluster, before = living_cluster, living_cluster.head()
    one, two, _ = was = _servers(cluster)
    with traffic(cluster.bootstrap, may_fall_below_min_isr=True):
        for server in (one, two):
            cluster.lose_directory(server.key, of="zookeeper")
            for process in cluster.running(server.key, "org.apache.zookeeper.server.quorum.QuorumPeerMain"):
                process.kill()
        blocked = cluster.blocked("MetadataLost", within_s=WITHIN_S)
        assert "1 of them must serve again with the disk it had" in blocked.message
        assert one.node in blocked.message
        assert two.node in blocked.message
        cluster.restart_server()
        time.sleep(LEFT_ALONE_S)
        told = types_told(cluster, before)
        assert not TOUCHED & set(told), told
        assert not [t for t in told if t.startswith("voter.")], told
        _put_back(cluster, one)
        settled(cluster, within_s=WITHIN_S)
    assert [i.node for i in _servers(cluster)] == [i.node for i in was]


def _servers(cluster: LivingCluster) -> list[instance_api.InstanceOut]:
    there = [i for i in cluster.detail().instances if i.node.startswith(CONTROLLERS)]
    return sorted(there, key=lambda i: i.node)


def _put_back(cluster: LivingCluster, server: instance_api.InstanceOut) -> None:
    """What `lose_directory` took away."""
    kept = (cluster.vm(server.key) / "volumes" / "data").resolve() / "zookeeper"
    (cluster.home / f"lost-{kept.parent.name}").rename(kept)
