"""Moves that are slowed while clients need the brokers, on real ones: by what their agents tell, over a server that
dies, and let go again. Load comes from outside; how hard brokers are put to it is decided by its amount, not by the
machine."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from controlplane.api.schemas import moves as move_api
from controlplane.kafka.workload import Workload
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic
from tests.kafka_topics import create_topic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(900)]

EASILY: Mapping[str, object] = {"handlersBusyPercent": 1, "risePercent": 110, "startPercent": 100}
HARDLY: Mapping[str, object] = {
    "startPercent": 100,
    "handlersBusyPercent": 100,
    "risePercent": 10_000,
    "produceP99Ms": 600_000,
    "requestQueue": 100_000,
    "diskWaitMs": 600_000,
}
SPEC = ClusterSpec(
    name="braked",
    sizes={"one": 1, "two": 1, "three": 2},
    disk_gib=2,
    throttle_mib_per_s=2,
    join_deadline_s=180,
    brake=EASILY,
)
MIB = 2**20
BURST_PER_S = 800
"""Four times what brokers had before: more handlers are busy, and those are what is judged by so low a limit."""
WITHIN_S = 300.0


def test_moves_are_slowed_while_clients_are_busy_and_let_go_again(living_cluster: LivingCluster) -> None:
    cluster, broker = living_cluster, living_cluster.instance("three-c-1").service_id
    create_topic(cluster.bootstrap(), "heavy", partitions=12, rf=3, min_isr=2, bytes_per_partition=20 * MIB)
    with traffic(cluster.bootstrap):
        cluster.until(lambda: _all_tell(cluster) or None, "agents to tell how clients fare", timeout_s=120)
        before = cluster.head()
        cluster.client.evacuate(cluster.spec.name, move_api.EvacuateIn(brokers=[broker], reason="noises"))
        armed = cluster.event("brake.armed", before, within_s=WITHIN_S)
        assert "produce_p99_ms" in {name for told in armed.data["before"].values() for name in told}
        cluster.moving(within_s=WITHIN_S)
        planned = _fastest(cluster)
        burst = Workload(cluster.bootstrap, "heavy", records_per_s=BURST_PER_S, group="burst")
        burst.start()
        try:
            pressed = cluster.event("brake.changed", before, within_s=WITHIN_S)
            assert pressed.data["share"] == 0.5
            assert pressed.data["reason"]
            slowed = cluster.until(lambda: _below(cluster, 0.7 * planned), "slower throttles", timeout_s=60)
            cluster.restart_server()
            assert cluster.until(lambda: _below(cluster, slowed + 1), "the next server to slow them", timeout_s=120)
            brake = cluster.detail().brake
            assert brake is not None
            assert brake.share <= 0.5
            assert brake.planned_bytes_per_s > brake.bytes_per_s
        finally:
            burst.stop()
        lenient = cluster.head()
        cluster.declare(replace(cluster.spec, brake=HARDLY))
        share = min(float(e.data["share"]) for e in cluster.events(before) if e.type == "brake.changed")
        eased = cluster.event("brake.changed", lenient, within_s=WITHIN_S)
        assert share < eased.data["share"] < 1
        assert eased.data["figure"] == ""
        cluster.event("evacuation.completed", before, within_s=WITHIN_S)
        settled(cluster, within_s=WITHIN_S)
    assert not cluster.snapshot().throttles.any
    assert not any(c.status for c in cluster.detail().conditions if c.type == "MovesBraked")


def _all_tell(cluster: LivingCluster) -> bool:
    """Whether every broker's agent tells of its handlers, and one of clients' latency."""
    told = [cluster.figures(i.key) for i in cluster.detail().instances if i.service == "broker"]
    return all("request_handler_idle" in t for t in told) and any("produce_p99_ms" in t for t in told)


def _fastest(cluster: LivingCluster) -> int:
    """The highest throttle of any broker that receives."""
    return max(cluster.snapshot().throttles.follower_rate.values(), default=0)


def _below(cluster: LivingCluster, limit: float) -> int | None:
    rate = _fastest(cluster)
    return rate if 0 < rate < limit else None
