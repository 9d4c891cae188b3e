"""What is seen of a cluster is half of it: agents without brokers, a rack that hears and is not heard, or the other way
round. Nobody is dead: Kedge waits, says what it does not know, and has nothing to undo afterwards.
"""

import time
from pathlib import Path

import pytest

from controlplane.api.schemas import chaos as chaos_api
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.elsewhere import traffic_from_elsewhere, unseen
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import RECORDS_PER_S
from tests.marks import A_NETWORK_FOR_EACH_VM

pytestmark = [
    pytest.mark.soak,
    pytest.mark.kafka,
    pytest.mark.timeout(450),
    A_NETWORK_FOR_EACH_VM,
]

SPEC = ClusterSpec(name="half", controllers=3, heal_after_s=60, config={"replica.lag.time.max.ms": 5000})
SERVER_SETTINGS = {"KEDGE_CLOUDS__VM_NETWORK": "namespaces"}

DESTRUCTIVE = {"instance.lost", "instance.fenced", "retire.requested"}
ANEW = {"surge.requested", "node.replace_requested", "restart.requested", "healing.requested"}
LASTS_S = 45
"""Longer than what is seen may be old (30 s)."""


def test_brokers_that_the_server_cannot_reach_while_their_agents_report_are_waited_for(
    living_cluster: LivingCluster, tmp_path: Path
) -> None:
    cluster = living_cluster
    old = cluster.instance("one-a-0").key
    with traffic_from_elsewhere(cluster, tmp_path / "clients") as workload:
        before = cluster.roll_slowly("one")
        head, acknowledged = cluster.head(), workload.acknowledged
        with unseen(cluster, "dport", "9092"):
            sentences = _watched(cluster)
            detail = cluster.detail()
        assert all((i.report_age_s or 0) < 20 for i in detail.instances), "agents are heard all the time"
        assert not {e.type for e in cluster.events(head)} & (DESTRUCTIVE | ANEW)
        assert old in cluster.vms()
        assert any("Kafka" in s for s in sentences), sentences
        assert workload.acknowledged - acknowledged > LASTS_S * RECORDS_PER_S / 2, "clients elsewhere do not notice"
        cluster.event("replacement.completed", before)
        settled(cluster)
    _replaced_once(cluster, before, "one-a-0")


@pytest.mark.parametrize("way", ["out", "in"])
def test_a_rack_that_is_cut_off_one_way_is_told_waited_for_and_healed_by_itself(
    living_cluster: LivingCluster, tmp_path: Path, way: str
) -> None:
    """A broker and a controller: the other two racks have two of each, and go on."""
    cluster = living_cluster
    away = sorted(i.key for i in cluster.detail().instances if i.rack == "c")
    assert {k.partition("-")[0] for k in away} == {"controllers", "three"}
    with traffic_from_elsewhere(cluster, tmp_path / "clients") as workload:
        head = cluster.head()
        about = chaos_api.ChaosIn(fault="split", rack="c", for_s=LASTS_S, way=way, reason="e2e")
        cluster.client.inject_chaos(cluster.spec.name, about)
        before, acknowledged = cluster.head(), workload.acknowledged
        sentences = _watched(cluster)
        short = cluster.snapshot().under_replicated()
        assert short, "replicas of that rack are out of sync"
        assert workload.acknowledged - acknowledged > LASTS_S * RECORDS_PER_S / 4, "two racks are enough"
        cluster.event("chaos.ended", head)
        cluster.until(lambda: _is_healthy(cluster), "full health", timeout_s=150)
        assert not {e.type for e in cluster.events(before)} & (DESTRUCTIVE | ANEW), sentences
        settled(cluster)
    assert sorted(i.key for i in cluster.detail().instances if i.rack == "c") == away


def _watched(cluster: LivingCluster) -> set[str]:
    """What is said of the cluster for so long."""
    began, sentences = time.monotonic(), set[str]()
    while time.monotonic() - began < LASTS_S - 2:
        detail = cluster.detail()
        sentences.add(detail.sentence)
        sentences |= {f"{c.type}={c.reason}: {c.message}" for c in detail.conditions if c.status}
        time.sleep(0.5)
    print(*sorted(sentences), sep="\n")
    return sentences


def _is_healthy(cluster: LivingCluster) -> bool | None:
    health = cluster.client.health(cluster.spec.name)
    return (health.healthy and not health.open) or None


def _replaced_once(cluster: LivingCluster, before: int, node: str) -> None:
    surges = [e for e in cluster.events(before) if e.type == "surge.requested"]
    assert [i["node"] for e in surges for i in e.data["instances"]] == [node]
