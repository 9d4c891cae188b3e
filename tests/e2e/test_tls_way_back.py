"""Somebody changes their mind half-way from plaintext to TLS: the spec of before takes a living cluster back, step by
step, under clients."""

from dataclasses import replace

import pytest

from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.tls_way import server_properties
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(2400)]

SPEC = ClusterSpec(name="returning", version="4.2.0", controllers=3, join_deadline_s=180)
STEP_WITHIN_S = 400.0


def test_the_spec_of_before_takes_it_back_from_the_third_step(living_cluster: LivingCluster) -> None:
    cluster, before = living_cluster, living_cluster.head()
    vms = {i.key for i in cluster.detail().instances}
    with traffic(cluster.bootstrap):
        cluster.declare(replace(SPEC, tls=True))
        cluster.event("security.step_requested", before, within_s=3 * STEP_WITHIN_S, where='"step": "C2"')
        cluster.event("restart.completed", cluster.head(), within_s=STEP_WITHIN_S)
        cluster.declare(SPEC)
        cluster.event("security.step_completed", before, within_s=4 * STEP_WITHIN_S, where='"position": 0')
        settled(cluster, within_s=300)
    completed = [e.data["position"] for e in cluster.events(before) if e.type == "security.step_completed"]
    assert completed == [1, 2, 2, 1, 0]
    assert {i.key for i in cluster.detail().instances} == vms, "no VM was made"
    plain = "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT"
    assert {server_properties(cluster, key)["listener.security.protocol.map"] for key in vms} == {plain}
