"""A cluster in ZooKeeper mode on real VMs of the local cloud goes to KRaft under traffic: half of the way and back
first, then all of it, and on to Kafka 4 by an ordinary roll.

The tests run in order: each goes on with the cluster the one before it has left.
"""

from dataclasses import replace

import pytest

from tests.e2e.cluster_spec import CONTROLLERS, POOLS, ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(900)]

SPEC = ClusterSpec(
    name="leaving",
    version="3.9.1",
    quorum="zookeeper",
    quorum_pool="zookeepers",
    controllers=3,
    join_deadline_s=180,
)
IN_KRAFT = replace(SPEC, quorum="controller", quorum_pool=CONTROLLERS)
WITHIN_S = 420.0


def _services(cluster: LivingCluster) -> set[str]:
    return {i.service for i in cluster.detail().instances}


def test_a_migration_that_is_turned_back_half_way_leaves_the_cluster_in_zookeeper(
    living_cluster: LivingCluster,
) -> None:
    cluster, before = living_cluster, living_cluster.head()
    was = cluster.snapshot()
    with traffic(cluster.bootstrap):
        cluster.declare(IN_KRAFT)
        cluster.event("migration.service_started", before, within_s=WITHIN_S, where='"knows": "the quorum"')
        cluster.declare(SPEC)
        ended = cluster.event("migration.ended", before, within_s=WITHIN_S)
        settled(cluster, within_s=WITHIN_S)
    told = [e.data for e in cluster.events(before) if e.type == "migration.service_started"]
    assert ended.data["mode"] == "zookeeper"
    assert not any(e["ends_way_back"] for e in told), "there was a way back all the time"
    assert _services(cluster) == {"broker", "zookeeper"}
    now = cluster.snapshot()
    assert (now.mode, now.cluster_id, now.live_brokers()) == ("zookeeper", was.cluster_id, was.live_brokers())


def test_a_migration_ends_in_kraft_with_the_same_brokers_and_without_the_ensemble(
    living_cluster: LivingCluster,
) -> None:
    cluster, before = living_cluster, living_cluster.head()
    was, cluster_id = (
        {i.key for i in cluster.detail().instances if i.service == "broker"},
        cluster.snapshot().cluster_id,
    )
    with traffic(cluster.bootstrap):
        cluster.declare(IN_KRAFT)
        ended = cluster.event("migration.ended", before, within_s=WITHIN_S)
        settled(cluster, within_s=WITHIN_S)
    told = [e.data for e in cluster.events(before) if e.type == "migration.service_started"]
    assert ended.data["mode"] == "kraft"
    assert [e["service"] for e in told if e["ends_way_back"]] == ["controller"]
    assert [e["knows"] for e in told if e["service"] == "broker"] == ["both"] * len(POOLS) + ["the quorum"] * len(POOLS)
    assert _services(cluster) == {"broker", "controller"}
    assert {i.key for i in cluster.detail().instances if i.service == "broker"} == was, "no broker got another VM"
    now = cluster.snapshot()
    assert (now.mode, now.cluster_id) == ("kraft", cluster_id)
    assert len([m for m in now.quorum.members if m.is_voter]) == IN_KRAFT.controllers


def test_the_cluster_goes_on_to_kafka_4_by_an_ordinary_roll(living_cluster: LivingCluster) -> None:
    cluster, before = living_cluster, living_cluster.head()
    with traffic(cluster.bootstrap):
        cluster.declare(replace(IN_KRAFT, version="4.1.1"))
        settled(cluster, within_s=WITHIN_S)
    assert {i.kafka_version for i in cluster.detail().instances} == {"4.1.1"}
    assert cluster.snapshot().features["metadata.version"].finalised == 27
    assert [e.type for e in cluster.events(before)].count("replacement.completed") == len(POOLS) + IN_KRAFT.controllers
