"""A broker is added to a running cluster, on real brokers under an audited workload: it gets its share by itself."""

from dataclasses import replace
from math import ceil, floor

import pytest

from controlplane.api.schemas import nodes as node_api
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(400)]

SPEC = ClusterSpec(name="grown", throttle_mib_per_s=8)


def test_an_added_broker_gets_its_share_and_nothing_is_lost(living_cluster: LivingCluster) -> None:
    """3 -> 4 brokers. `traffic` fails on a lost acknowledged record, `settled` on what is not at rest."""
    cluster = living_cluster
    before = cluster.head()
    with traffic(cluster.bootstrap):
        cluster.declare(replace(SPEC, sizes={**SPEC.sizes, "three": 2}))
        asked = cluster.event("rebalance.requested", before)
        assert asked.data["cause"] == "scale-up"
        cluster.event("rebalance.batch_started", before)
        done = cluster.event("rebalance.completed", before)
        settled(cluster)
    added, beside = cluster.instance("three-c-1"), cluster.instance("three-c-0")
    seen = cluster.snapshot()
    held = {b: len(seen.hosted_by(b)) for b in (added.service_id, beside.service_id)}
    assert asked.data["new_brokers"] == [added.service_id]
    even = sum(held.values()) / 2  # they share a rack, and what a rack holds is not changed
    assert all(floor(0.91 * even) <= count <= ceil(1.09 * even) for count in held.values()), held
    assert done.data["moves"] > 0
    assert not seen.under_min_isr()
    assert not seen.throttles.any
    led = sum(p.leader == added.service_id for p in seen.partitions)
    assert led > 0, "it leads its share, too"


def test_a_balanced_cluster_is_left_alone_when_somebody_asks_again(living_cluster: LivingCluster) -> None:
    """The first one may still move some among the old brokers: a scale-up does not."""
    cluster = living_cluster
    moves = []
    for reason in ("to be sure", "to be quite sure"):
        before = cluster.head()
        said = cluster.client.rebalance(SPEC.name, node_api.RebalanceIn(reason=reason))
        assert "over 4 brokers" in said.sentence
        moves.append(cluster.event("rebalance.completed", before).data["moves"])
        settled(cluster)
    assert moves[-1] == 0
