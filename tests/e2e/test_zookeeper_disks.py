"""Brokers of Kafka 3.8 in ZooKeeper mode with two disks under traffic: either one fails, and is replaced alone while
its broker serves on; another number of disks moves brokers to new VMs."""

from dataclasses import replace

import pytest

from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.running import java_process, types_told
from tests.e2e.traffic import traffic
from tests.e2e.volumes import dirs_in_use, identity_of, volumes_of

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(460)]

SPEC = ClusterSpec(name="shelved", version="3.8.1", quorum="zookeeper", disks=2, heal_after_s=3, join_deadline_s=120)


@pytest.mark.parametrize(
    ("node", "failed", "stays"),
    [("two-b-0", "data2", "data"), ("three-c-0", "data", "data2")],
    ids=["the-second-of-two", "the-first-of-two"],
)
def test_a_disk_that_fails_is_replaced_and_the_other_one_stays(
    living_cluster: LivingCluster, node: str, failed: str, stays: str
) -> None:
    """A broker in this mode keeps nothing of the cluster's own on its first disk, so it serves on without either."""
    cluster = living_cluster
    before, unhealthy = cluster.head(), cluster.instance(node)
    process = java_process(cluster, unhealthy.key)
    with traffic(cluster.bootstrap):
        assert dirs_in_use(cluster, unhealthy.service_id) == 2
        kept = identity_of(cluster, unhealthy.key, stays)
        cluster.lose_directory(unhealthy.key, failed)
        asked = cluster.event("healing.requested", before, within_s=90).data
        assert (asked["key"], asked["finding"], asked["cure"]) == (unhealthy.key, "log_dir_failed", "replace")
        assert java_process(cluster, unhealthy.key) == process, "the broker serves on with the other disk"
        assert cluster.event("node.replace_requested", before).data["disks"] == [failed]
        cluster.event("retire.completed", before)
        cluster.converged()
        successor = cluster.instance(node)
        assert (successor.service_id, successor.generation) == (unhealthy.service_id, unhealthy.generation + 1)
        assert identity_of(cluster, successor.key, stays) == kept
        assert volumes_of(cluster, successor.key) == {stays: f"{node}.{stays}.v1", failed: f"{node}.{failed}.v2"}
        assert dirs_in_use(cluster, successor.service_id) == 2
    assert "drain.requested" not in types_told(cluster, before)
    settled(cluster)


def test_brokers_get_a_third_disk_by_moving_to_new_vms(living_cluster: LivingCluster) -> None:
    """Each is drained in its turn, its replicas dealt out among the three directories of its successor."""
    cluster, before = living_cluster, living_cluster.head()
    with traffic(cluster.bootstrap):
        cluster.declare(replace(cluster.spec, disks=3))
        settled(cluster, within_s=300)
        brokers = [i for i in cluster.detail().instances if i.service == "broker"]
        assert [dirs_in_use(cluster, i.service_id) for i in brokers] == [3, 3, 3]
    assert types_told(cluster, before).count("drain.requested") == len(brokers)
