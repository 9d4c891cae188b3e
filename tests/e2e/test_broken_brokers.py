"""Brokers that are there and do not serve, under traffic: one that stands still is started anew, one that cannot start
gets a new VM, and so does one that nobody hears, whose own VM is there until it says itself that it has stopped.
"""

import time
from pathlib import Path

import pytest

from providers.harm import Harm, Manner
from providers.local.splits import calm, disturb
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.elsewhere import traffic_from_elsewhere
from tests.e2e.frozen import standing_still
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.running import java_process
from tests.e2e.traffic import traffic
from tests.marks import A_NETWORK_FOR_EACH_VM

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(900), A_NETWORK_FOR_EACH_VM]

SPEC = ClusterSpec(name="broken", join_deadline_s=180, heal_after_s=20, healing={"lostAfter": "60s"})
"""A process that stands still takes no SIGTERM: its agent waits a minute before it kills it, which is part of its
restart and must not count as one that failed."""
SERVER_SETTINGS = {"KEDGE_CLOUDS__VM_NETWORK": "namespaces", "KEDGE_CLOUDS__ENFORCE_DISK": "1"}


def test_a_broker_that_stands_still_is_left_alone_for_40_s_and_then_started_anew_by_itself(
    living_cluster: LivingCluster,
) -> None:
    cluster = living_cluster
    unhealthy, before = cluster.instance("two-b-0"), cluster.head()
    with traffic(cluster.bootstrap, may_fall_below_min_isr=True):
        with standing_still([java_process(cluster, unhealthy.key)]):
            time.sleep(40)
        cluster.until(lambda: len(cluster.snapshot().live_brokers()) == 3 or None, "it to serve again", timeout_s=60)
        time.sleep(70)  # the next look at a cluster at rest
        assert not [e for e in cluster.events(before) if e.type in ("healing.requested", "surge.requested")]

        before, frozen = cluster.head(), java_process(cluster, unhealthy.key)
        began = time.monotonic()
        with standing_still([frozen]):
            asked = cluster.event("healing.requested", before, within_s=200).data
            assert (asked["key"], asked["finding"], asked["cure"]) == (unhealthy.key, "registration_wrong", "restart")
            cluster.event("restart.completed", before, where=unhealthy.key, within_s=200)
            print(f"serves again {time.monotonic() - began:.0f} s after it froze")
            assert java_process(cluster, unhealthy.key) != frozen
        assert unhealthy.service_id in cluster.snapshot().live_brokers()
        settled(cluster)
    assert not [e for e in cluster.events(before) if e.type == "surge.requested"]


def test_a_broker_that_cannot_start_is_replaced(living_cluster: LivingCluster) -> None:
    """What lies on its disk is no partition: Kafka ends over it at each start, on a disk that is its own."""
    cluster = living_cluster
    unhealthy, before = cluster.instance("three-c-0"), cluster.head()
    with traffic(cluster.bootstrap, may_fall_below_min_isr=True):
        began = time.monotonic()
        (cluster.vm(unhealthy.key) / "volumes" / "data" / "kafka" / "garbage").mkdir()
        for kafka in cluster.running(unhealthy.key, "kafka.Kafka"):
            kafka.kill()
        told = cluster.until(lambda: _away(cluster), "the condition BrokerAway", timeout_s=250)
        assert f"the process of {unhealthy.key} (broker {unhealthy.service_id}) ends again and again" in told
        asked = cluster.event("healing.requested", before, within_s=250).data
        assert (asked["key"], asked["finding"], asked["cure"]) == (unhealthy.key, "crash_loop", "replace")
        cluster.event("retire.completed", before, within_s=250)
        cluster.converged()
        print(f"replaced {time.monotonic() - began:.0f} s after it could not start")
        assert cluster.instance("three-c-0").service_id != unhealthy.service_id
        settled(cluster)


def test_a_vm_split_off_from_everyone_gets_a_successor_and_goes_after_the_split(
    living_cluster: LivingCluster, tmp_path: Path
) -> None:
    cluster = living_cluster
    unhealthy, before = cluster.instance("one-a-0"), cluster.head()
    vm = cluster.vm(unhealthy.key)
    with traffic_from_elsewhere(cluster, tmp_path / "clients"):
        began = time.monotonic()
        disturb(vm, Harm.SPLIT, Manner(everyone=True), 1200)
        try:
            asked = cluster.event("healing.requested", before, within_s=300).data
            assert (asked["key"], asked["finding"], asked["cure"]) == (unhealthy.key, "unreachable", "replace")
            cluster.event("instance.drained", before, where=unhealthy.key, within_s=250)
            filled_s = time.monotonic() - began
            kafka = cluster.snapshot()
            assert not kafka.hosted_by(unhealthy.service_id)
            assert not kafka.under_replicated()
            cluster.blocked("Fencing", within_s=200)
            assert unhealthy.key in cluster.vms()
            assert cluster.running(unhealthy.key, "kafka.Kafka"), "nobody touched it"
            assert not [e for e in cluster.events(before) if e.type in ("retire.requested", "instance.fenced")]
        finally:
            calm(vm, Harm.SPLIT)
        cluster.event("retire.completed", before, within_s=200)
        cluster.converged()
        print(f"its successor was full {filled_s:.0f} s after the split began")
        assert unhealthy.key not in cluster.vms()
        fenced = [e.data for e in cluster.events(before) if e.type == "instance.fenced"]
        assert [(f["key"], f["proof"]) for f in fenced] == [(unhealthy.key, "agent")]
        settled(cluster)


def _away(cluster: LivingCluster) -> str | None:
    told = (c.message for c in cluster.detail().conditions if c.type == "BrokerAway" and c.status)
    return next(told, None)
