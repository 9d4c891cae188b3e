"""Faults of `kedge chaos` on a real cluster under traffic, each alone: a rack killed, a full disk, lost packets.

Each VM has a network and a disk of its own. What was told while the fault lasted is printed.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

import pytest

from controlplane.api.schemas import chaos as chaos_api
from controlplane.cli.errors import CliError
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic
from tests.marks import A_NETWORK_FOR_EACH_VM

pytestmark = [
    pytest.mark.soak,
    pytest.mark.kafka,
    pytest.mark.timeout(470),
    A_NETWORK_FOR_EACH_VM,
]

SPEC = ClusterSpec(name="faults", controllers=3)
SERVER_SETTINGS = {"KEDGE_CLOUDS__VM_NETWORK": "namespaces", "KEDGE_CLOUDS__ENFORCE_DISK": "1"}

REPLACES = {"instance.lost", "surge.requested", "node.replace_requested"}


def test_packets_that_are_lost_in_a_rack_cost_nothing_and_replace_nobody(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    before = cluster.head()
    with traffic(cluster.bootstrap, may_fall_below_min_isr=True), _heard(cluster) as told:
        _inject(cluster, "packet-loss", rack="b", loss_percent=20, for_s=25)
        cluster.event("chaos.ended", before)
        _healthy(cluster)
    print("told:", *sorted(told), sep="\n  ")
    assert not REPLACES & {e.type for e in cluster.events(before)}
    settled(cluster)


def test_a_full_disk_stops_its_broker_alone_which_comes_back_once_there_is_room(living_cluster: LivingCluster) -> None:
    """Kafka stops over a directory it cannot write to; its agent starts it again and again until it can."""
    cluster = living_cluster
    before, full = cluster.head(), cluster.instance("three-c-0")
    with traffic(cluster.bootstrap, may_fall_below_min_isr=True), _heard(cluster) as told:
        _inject(cluster, "full-disk", full.key, for_s=30)
        cluster.until(lambda: not cluster.client.health(cluster.spec.name).healthy or None, "a sign", timeout_s=60)
        cluster.event("chaos.ended", before)
        _healthy(cluster)
    print("told:", *sorted(told), sep="\n  ")
    assert any(full.key in words or str(full.service_id) in words for words in told), told
    assert not REPLACES & {e.type for e in cluster.events(before)}
    assert cluster.instance("three-c-0").key == full.key
    settled(cluster)


def test_a_rack_that_is_killed_is_told_and_made_anew_with_nothing_lost(living_cluster: LivingCluster) -> None:
    """Its broker and its controller. The others are a majority, and hold every partition."""
    cluster = living_cluster
    before = cluster.head()
    gone = {i.key for i in cluster.detail().instances if i.rack == "a"}
    assert {key.partition("-")[0] for key in gone} == {"one", "controllers"}
    with traffic(cluster.bootstrap, may_fall_below_min_isr=True), _heard(cluster) as told:
        _inject(cluster, "kill-rack", rack="a", for_s=60)
        for key in sorted(gone):
            cluster.event("instance.lost", before, where=key)
        cluster.converged()
        _healthy(cluster)
    print("told:", *sorted(told), sep="\n  ")
    assert any(key in words for key in gone for words in told), told
    assert not gone & {i.key for i in cluster.detail().instances}
    assert len(cluster.detail().instances) == 6
    settled(cluster)


def _inject(cluster: LivingCluster, fault: str, *vms: str, for_s: float, **about: object) -> None:
    order = chaos_api.ChaosIn.model_validate({"fault": fault, "vms": vms, "for_s": for_s, "reason": "e2e"} | about)
    cluster.client.inject_chaos(cluster.spec.name, order)


def _healthy(cluster: LivingCluster, *, within_s: float = 150.0) -> None:
    def look() -> bool | None:
        health = cluster.client.health(cluster.spec.name)
        return (health.healthy and not health.open) or None

    cluster.until(look, "full health", timeout_s=within_s)


@contextmanager
def _heard(cluster: LivingCluster) -> Iterator[set[str]]:
    """Why the cluster is not well and which conditions hold, in the server's own words, while the block runs."""
    told: set[str] = set()
    leaving = Event()

    def listen(say: Callable[[str], None]) -> None:
        while not leaving.wait(0.5):
            try:
                health = cluster.client.health(cluster.spec.name)
            except CliError:
                continue  # the server did not answer this once
            if health.why:
                say(health.why)
            for condition in health.findings:
                say(condition)

    thread = Thread(target=listen, args=(told.add,), daemon=True)
    thread.start()
    try:
        yield told
    finally:
        leaving.set()
        thread.join(30)
