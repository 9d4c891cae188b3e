"""kill -9 of the server in ZooKeeper mode where there is no way back, on real brokers under traffic: between the
protocol that is raised and the restarts that bring it, and around the restart that ends the way back from KRaft.

The tests run in order: each goes on with the cluster the one before it has left.
"""

from dataclasses import replace

import pytest

from tests.e2e.cluster_spec import CONTROLLERS, POOLS, ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.running import types_told
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(1100)]

SPEC = ClusterSpec(name="returning", version="3.8.1", quorum="zookeeper", quorum_pool="zookeepers", join_deadline_s=180)
RAISED = replace(SPEC, version="3.9.1")
IN_KRAFT = replace(RAISED, quorum="controller", quorum_pool=CONTROLLERS)
WITHIN_S = 500.0


def test_a_server_killed_once_the_protocol_is_raised_starts_each_broker_with_it(living_cluster: LivingCluster) -> None:
    cluster, before = living_cluster, living_cluster.head()
    with traffic(cluster.bootstrap):
        cluster.declare(RAISED)
        cluster.event("protocol.raised", before, within_s=WITHIN_S)
        cluster.restart_server()
        cluster.event("restart.requested", before, within_s=WITHIN_S)
        cluster.restart_server()
        settled(cluster, within_s=WITHIN_S)
    told = types_told(cluster, before)
    assert (told.count("protocol.raised"), told.count("restart.completed")) == (1, len(POOLS))
    for i in cluster.detail().instances:
        if i.service == "broker":
            properties = next(cluster.vm(i.key).rglob("server.properties")).read_text()
            assert "inter.broker.protocol.version=3.9\n" in properties


def test_a_server_killed_around_the_end_of_the_way_back_brings_the_migration_to_its_end(
    living_cluster: LivingCluster,
) -> None:
    cluster, before = living_cluster, living_cluster.head()
    was = {i.key for i in cluster.detail().instances if i.service == "broker"}
    cluster_id = cluster.snapshot().cluster_id
    with traffic(cluster.bootstrap):
        cluster.declare(IN_KRAFT)
        for knows in ('"knows": "both"', '"knows": "the quorum"', '"ends_way_back": true'):
            cluster.event("migration.service_started", before, within_s=WITHIN_S, where=knows)
            cluster.restart_server()
        ended = cluster.event("migration.ended", before, within_s=WITHIN_S)
        settled(cluster, within_s=WITHIN_S)
    told = [e.data for e in cluster.events(before) if e.type == "migration.service_started"]
    assert ended.data["mode"] == "kraft"
    assert [e["service"] for e in told if e["ends_way_back"]] == ["controller"]
    assert [e["knows"] for e in told if e["service"] == "broker"] == ["both"] * len(POOLS) + ["the quorum"] * len(POOLS)
    assert {i.key for i in cluster.detail().instances if i.service == "broker"} == was
    assert (cluster.snapshot().mode, cluster.snapshot().cluster_id) == ("kraft", cluster_id)
