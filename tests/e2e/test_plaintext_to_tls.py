"""A living cluster goes from plaintext between its nodes to TLS: three controllers and three brokers, restarted in
place step by step, under clients of both kinds, with the server killed half-way."""

from dataclasses import replace

import pytest

from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.tls_traffic import tls_traffic
from tests.e2e.tls_way import server_properties, steps_made
from tests.e2e.traffic import traffic
from tests.kafka_topics import create_topic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(2400)]

SPEC = ClusterSpec(name="securing", controllers=3, join_deadline_s=180)
SECURED = replace(SPEC, tls=True)
STEPS = ["C1", "B1", "C2", "B2", "B3", "C3"]
STEP_WITHIN_S = 400.0


def _completed(cluster: LivingCluster, after: int, step: str) -> None:
    cluster.event("security.step_completed", after, within_s=STEP_WITHIN_S, where=f'"step": "{step}"')


def test_a_living_cluster_becomes_tls_between_its_nodes(living_cluster: LivingCluster) -> None:
    cluster, before = living_cluster, living_cluster.head()
    vms = {i.key for i in cluster.detail().instances}
    create_topic(cluster.bootstrap(), "secured", partitions=6, rf=3, min_isr=2)
    with traffic(cluster.bootstrap):
        cluster.declare(SECURED)
        _completed(cluster, before, "B1")
        with tls_traffic(cluster, "secured"):
            cluster.event("security.step_requested", before, within_s=STEP_WITHIN_S, where='"step": "C2"')
            cluster.restart_server()
            for step in STEPS[2:]:
                _completed(cluster, before, step)
            settled(cluster, within_s=300)
    assert steps_made(cluster, before) == [(step, n) for n, step in enumerate(STEPS, start=1)]
    assert {i.key for i in cluster.detail().instances} == vms, "no VM was made"
    assert not [e for e in cluster.events(before) if e.type == "restart.revert_requested"]
    for instance in cluster.detail().instances:
        told = server_properties(cluster, instance.key)
        names = {"broker": "CONTROLPLANE,REPLICATION,PLAINTEXT,TLS", "controller": "CONTROLPLANE"}[instance.service]
        mapped = [entry.partition(":")[0] for entry in told["listener.security.protocol.map"].split(",")]
        assert ",".join(mapped) == names
        assert told["controller.listener.names"] == "CONTROLPLANE"
        assert "9093" not in told["controller.quorum.bootstrap.servers"]
        assert told["authorizer.class.name"].endswith("StandardAuthorizer")
