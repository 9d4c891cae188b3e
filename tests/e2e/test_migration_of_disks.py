"""Brokers with two disks go from ZooKeeper to KRaft under traffic, and a disk that fails after that is replaced alone.

The tests run in order: each goes on with the cluster the one before it has left.
"""

from dataclasses import replace

import pytest

from tests.e2e.cluster_spec import CONTROLLERS, ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.running import types_told
from tests.e2e.traffic import traffic
from tests.e2e.volumes import dirs_in_use, identity_of, volumes_of

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(900)]

SPEC = ClusterSpec(
    name="shelves",
    version="3.9.1",
    quorum="zookeeper",
    quorum_pool="zookeepers",
    disks=2,
    heal_after_s=3,
    join_deadline_s=180,
)
IN_KRAFT = replace(SPEC, quorum="controller", quorum_pool=CONTROLLERS)
WITHIN_S = 600.0


def test_brokers_with_two_disks_migrate_with_both_as_they_are(living_cluster: LivingCluster) -> None:
    cluster, before = living_cluster, living_cluster.head()
    brokers = [i for i in cluster.detail().instances if i.service == "broker"]
    disks = {i.key: volumes_of(cluster, i.key) for i in brokers}
    identities = {(key, name): identity_of(cluster, key, name) for key, held in disks.items() for name in held}
    assert [dirs_in_use(cluster, i.service_id) for i in brokers] == [2, 2, 2]
    with traffic(cluster.bootstrap):
        cluster.declare(IN_KRAFT)
        ended = cluster.event("migration.ended", before, within_s=WITHIN_S)
        settled(cluster, within_s=WITHIN_S)
    assert ended.data["mode"] == "kraft"
    now = cluster.snapshot()
    assert (now.mode, [dirs_in_use(cluster, i.service_id) for i in brokers]) == ("kraft", [2, 2, 2])
    assert {i.key: volumes_of(cluster, i.key) for i in brokers} == disks
    assert {(key, name): identity_of(cluster, key, name) for key, name in identities} == identities


def test_a_disk_that_fails_after_that_is_replaced_alone(living_cluster: LivingCluster) -> None:
    """The directory that stays is marked as ZooKeeper's brokers mark theirs, the new one as KRaft's do."""
    cluster = living_cluster
    before, unhealthy = cluster.head(), cluster.instance("two-b-0")
    with traffic(cluster.bootstrap):
        cluster.lose_directory(unhealthy.key, "data2")
        assert cluster.event("node.replace_requested", before, within_s=90).data["disks"] == ["data2"]
        cluster.event("retire.completed", before)
        cluster.converged()
        successor = cluster.instance("two-b-0")
        assert successor.service_id == unhealthy.service_id
        assert "version=0" in identity_of(cluster, successor.key, "data")
        assert "version=1" in identity_of(cluster, successor.key, "data2")
        assert dirs_in_use(cluster, successor.service_id) == 2
    assert "drain.requested" not in types_told(cluster, before)
    settled(cluster)
