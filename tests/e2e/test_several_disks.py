"""Brokers with two disks under traffic: one that fails is replaced alone, the other passes on, and both are rolled."""

from dataclasses import replace

import pytest

from controlplane.api.schemas import nodes as node_api
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.running import types_told
from tests.e2e.traffic import traffic
from tests.e2e.volumes import dirs_in_use, identity_of, version_of, volumes_of

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(580)]

SPEC = ClusterSpec(name="two-disks", disks=2, heal_after_s=3, join_deadline_s=180)
SERVER_SETTINGS = {"KEDGE_ANOMALIES_POLL_S": "1"}


def test_a_disk_that_fails_is_replaced_and_the_other_one_stays(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    before, unhealthy = cluster.head(), cluster.instance("two-b-0")
    with traffic(cluster.bootstrap):
        assert dirs_in_use(cluster, unhealthy.service_id) == 2
        kept = identity_of(cluster, unhealthy.key, "data")
        cluster.lose_directory(unhealthy.key, "data2")
        asked = cluster.event("healing.requested", before, within_s=90).data
        assert (asked["key"], asked["finding"], asked["cure"]) == (unhealthy.key, "log_dir_failed", "replace")
        assert cluster.event("node.replace_requested", before).data["disks"] == ["data2"]
        cluster.event("retire.completed", before)
        cluster.converged()
        successor = cluster.instance("two-b-0")
        assert (successor.service_id, successor.key) == (unhealthy.service_id, "two-b-0.g2")
        assert identity_of(cluster, successor.key, "data") == kept
        assert volumes_of(cluster, successor.key) == {"data": "two-b-0.data.v1", "data2": "two-b-0.data2.v2"}
        assert dirs_in_use(cluster, successor.service_id) == 2
    assert not [e for e in cluster.events(before) if e.type == "drain.requested"]
    settled(cluster)


def test_a_person_has_one_disk_replaced(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    before, old = cluster.head(), cluster.instance("three-c-0")
    with traffic(cluster.bootstrap):
        order = node_api.ReplaceIn(reason="bad blocks", broker=old.service_id, disks=["data2"])
        cluster.client.replace(cluster.spec.name, order)
        cluster.event("retire.completed", before)
        cluster.converged()
        assert volumes_of(cluster, cluster.instance("three-c-0").key)["data2"] == "three-c-0.data2.v2"
    settled(cluster)


def test_a_broker_that_stops_over_its_first_disk_gets_that_one_anew(living_cluster: LivingCluster) -> None:
    """Kafka's metadata is on the first disk, so a broker ends when that fails; its agent says what it finds there."""
    cluster = living_cluster
    before, unhealthy = cluster.head(), cluster.instance("three-c-0")
    was = volumes_of(cluster, unhealthy.key)
    assert _failed_disks(cluster) == set()
    with traffic(cluster.bootstrap):
        identity = identity_of(cluster, unhealthy.key, "data2")
        cluster.lose_directory(unhealthy.key)
        asked = cluster.event("healing.requested", before).data
        assert (asked["key"], asked["finding"], asked["cure"]) == (unhealthy.key, "directory_lost:data", "replace")
        assert cluster.event("node.replace_requested", before).data["disks"] == ["data"]
        cluster.until(lambda: "three-c-0" in _failed_disks(cluster) or None, "the anomaly disk-failure", timeout_s=60)
        cluster.event("retire.completed", before)
        cluster.converged()
        successor = cluster.instance("three-c-0")
        assert successor.service_id == unhealthy.service_id
        assert identity_of(cluster, successor.key, "data2") == identity
        now = volumes_of(cluster, successor.key)
        assert now["data2"] == was["data2"]
        assert version_of(now["data"]) > max(map(version_of, was.values())), "above every volume the node ever had"
        assert dirs_in_use(cluster, successor.service_id) == 2
    assert not [e for e in cluster.events(before) if e.type == "drain.requested"]
    cluster.until(lambda: not _failed_disks(cluster) or None, "the anomaly to be over", timeout_s=90)
    settled(cluster)


def test_brokers_with_two_disks_are_rolled(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    with traffic(cluster.bootstrap):
        cluster.roll("one")
        cluster.converged()
    assert volumes_of(cluster, cluster.instance("one-a-0").key) == {
        "data": "one-a-0.data.v2",
        "data2": "one-a-0.data2.v2",
    }
    settled(cluster)


def test_brokers_get_a_third_disk_and_are_left_with_one_by_moving_to_new_vms(living_cluster: LivingCluster) -> None:
    """Each is drained in its turn, its replicas dealt out among the directories of its successor."""
    cluster, before = living_cluster, living_cluster.head()
    with traffic(cluster.bootstrap):
        for disks in (3, 1):
            cluster.declare(replace(cluster.spec, disks=disks))
            settled(cluster, within_s=300)
            brokers = [i for i in cluster.detail().instances if i.service == "broker"]
            assert [dirs_in_use(cluster, i.service_id) for i in brokers] == [disks] * len(brokers)
            assert {len(volumes_of(cluster, i.key)) for i in brokers} == {disks}
    told = types_told(cluster, before)
    assert told.count("drain.requested") == 2 * len(brokers)
    assert "release.requested" not in told


def _failed_disks(cluster: LivingCluster) -> set[str]:
    """Nodes with an anomaly of that kind that is not over."""
    found = cluster.client.anomalies(cluster.spec.name).anomalies
    return {a.subject for a in found if a.kind == "disk-failure" and a.state != "over"}
