"""Splits and slow disks on real brokers under traffic: each VM has a network and disks of its own."""

import time
from pathlib import Path

import pytest

from controlplane.api.schemas import chaos as chaos_api
from providers.local.slow_disk import limited
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.elsewhere import traffic_from_elsewhere
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import RECORDS_PER_S, traffic
from tests.marks import A_NETWORK_FOR_EACH_VM

pytestmark = [
    pytest.mark.soak,
    pytest.mark.kafka,
    pytest.mark.timeout(450),
    A_NETWORK_FOR_EACH_VM,
]

SPEC = ClusterSpec(name="split", controllers=1, heal_after_s=60, config={"replica.lag.time.max.ms": 5000})
SERVER_SETTINGS = {"KEDGE_CLOUDS__VM_NETWORK": "namespaces", "KEDGE_CLOUDS__ENFORCE_DISK": "1"}


def _inject(cluster: LivingCluster, fault: str, *vms: str, for_s: float, **about: object) -> chaos_api.ChaosOut:
    order = chaos_api.ChaosIn.model_validate({"fault": fault, "vms": vms, "for_s": for_s, "reason": "e2e"} | about)
    return cluster.client.inject_chaos(cluster.spec.name, order)


def _healthy(cluster: LivingCluster, *, within_s: float = 150.0) -> None:
    def look() -> bool | None:
        health = cluster.client.health(cluster.spec.name)
        return (health.healthy and not health.open) or None

    cluster.until(look, "full health", timeout_s=within_s)


def test_a_broker_split_from_the_others_leaves_the_isr_and_comes_back_with_nothing_lost(
    living_cluster: LivingCluster,
) -> None:
    cluster = living_cluster
    key = cluster.instance("two-b-0").key
    with traffic(cluster.bootstrap, may_fall_below_min_isr=True):
        before = cluster.head()
        _inject(cluster, "split", key, for_s=25, cut_from="brokers")
        cluster.until(lambda: cluster.snapshot().under_replicated() or None, "the ISR to shrink", timeout_s=25)
        cluster.event("chaos.ended", before)
        _healthy(cluster)
        assert not [e for e in cluster.events(before) if e.type in ("instance.lost", "surge.requested")]


def test_a_split_of_the_control_plane_mid_roll_holds_destruction_back_and_the_roll_ends_after_it(
    living_cluster: LivingCluster, tmp_path: Path
) -> None:
    cluster = living_cluster
    old = cluster.instance("one-a-0").key
    with traffic_from_elsewhere(cluster, tmp_path / "clients") as workload:
        before = cluster.roll_slowly("one")
        vms = [i.key for i in cluster.detail().instances]
        began, head, acknowledged = time.monotonic(), cluster.head(), workload.acknowledged
        about = {"cut_from": "control-plane", "force": True, "several_racks": True}
        _inject(cluster, "split", *vms, for_s=40, **about)
        sentences = set[str]()
        while time.monotonic() - began < 38:
            sentences.add(cluster.detail().sentence)
            time.sleep(0.5)
        during = [e.type for e in cluster.events(head)]
        print(during, *sorted(sentences), sep="\n")
        assert not {"instance.lost", "retire.requested", "stop.requested", "surge.requested"} & set(during)
        assert old in cluster.vms()
        assert any("Kafka" in s for s in sentences), sentences
        assert workload.acknowledged - acknowledged > 38 * RECORDS_PER_S / 2, "clients elsewhere do not notice"
        cluster.event("chaos.ended", before)
        settled(cluster)
        assert old not in cluster.vms()


def test_a_slow_disk_slows_nobody_down_for_good(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    key = cluster.instance("three-c-0").key
    with traffic(cluster.bootstrap, may_fall_below_min_isr=True) as workload:
        before = cluster.head()
        _inject(cluster, "slow-disk", key, for_s=20, mib_per_s=0.2)
        assert len(limited()) == 1
        acknowledged = workload.acknowledged
        cluster.event("chaos.ended", before)
        assert workload.acknowledged > acknowledged
        _healthy(cluster)
        cluster.until(lambda: not limited() or None, "the disk to be as fast as it is", timeout_s=10)
