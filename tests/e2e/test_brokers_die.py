"""Brokers that die, stand still, never come or come back in the middle of a roll."""

import shutil
import socket
import time
from dataclasses import replace
from pathlib import Path

import pytest

from controlplane.api.schemas.commands import ReasonIn
from tests.e2e.invariants import QUIET_S, settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(400)]

SHARES_CLUSTER = True


@pytest.mark.soak
def test_a_new_broker_killed_mid_drain_is_replaced_by_the_next_one(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    with traffic(cluster.bootstrap):
        old = cluster.instance("one-a-0").key
        before = cluster.roll_slowly("one")
        new = cluster.instance("one-a-0").key
        assert new != old
        cluster.power_cut(new)
        cluster.event("instance.lost", before, where=new)
        cluster.event("drain.abandoned", before)
        settled(cluster)
        successor = cluster.instance("one-a-0")
        assert successor.key not in (old, new)
        replaced = [e.data["old"] for e in cluster.events(before) if e.type == "replacement.completed"]
        assert sorted(replaced) == sorted((old, new))


def test_an_old_broker_killed_mid_drain_is_drained_from_the_surviving_copies(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    with traffic(cluster.bootstrap):
        old = cluster.instance("two-b-0").key
        before = cluster.roll_slowly("two")
        cluster.power_cut(old)
        cluster.event("instance.lost", before, where=old)
        settled(cluster)
        surges = [e for e in cluster.events(before) if e.type == "surge.requested"]
        assert len(surges) == 1, "the successor that was there already takes its place"
        assert cluster.event("instance.fenced", before, where=old).data["proof"] == "inventory"


@pytest.mark.soak
def test_a_roll_waits_for_a_broker_of_another_rack_and_says_so(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    other, usual = cluster.instance("three-c-0"), cluster.spec
    with traffic(cluster.bootstrap):
        # Else it gets a new VM, on a slow machine before this is over.
        cluster.declare(replace(usual, heal_after_s=600))
        with cluster.frozen(other.key):
            before = cluster.roll("one")
            cluster.says(f"broker {other.service_id} (rack c) is down")
            time.sleep(QUIET_S)
            types = {e.type for e in cluster.events(before)}
            assert not types & {"drain.requested", "instance.fence_requested", "retire.requested", "instance.lost"}
        cluster.event("replacement.completed", before)
        cluster.declare(replace(cluster.spec, heal_after_s=usual.heal_after_s))
        settled(cluster)
    assert cluster.instance("three-c-0").key == other.key, "who was only silent is not replaced"


def test_a_vm_that_never_joins_is_replaced_once_then_a_person_is_asked(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    old = cluster.instance("two-b-0").key
    cluster.faults.set_vm("never_boots", {"two-b-0.*": 1})
    with traffic(cluster.bootstrap):
        before = cluster.head()
        cluster.declare(replace(cluster.spec.rolled("two"), join_deadline_s=5))
        blocked = cluster.blocked("ReplacementFailed")
        assert "2 tries in a row" in blocked.message
        assert blocked.message.endswith(f"Next: kedge resume {cluster.spec.name}")
        cluster.faults.clear()
        time.sleep(QUIET_S)
        tried = [e for e in cluster.events(before) if e.type == "surge.requested"]
        assert len(tried) == 2, "it does not try again by itself, though it could now"
        assert cluster.instance("two-b-0").key == old

        cluster.client.command(cluster.spec.name, "resume", ReasonIn(reason="the image is fixed"))
        cluster.until(lambda: _surges(cluster, before) == 3, "the next try", timeout_s=20)
        cluster.declare(replace(cluster.spec, join_deadline_s=60))
        cluster.event("replacement.completed", before)
        settled(cluster)


def test_a_retired_vm_that_wakes_up_stays_down(living_cluster: LivingCluster, tmp_path: Path) -> None:
    cluster = living_cluster
    old = cluster.instance("three-c-0")
    before = cluster.roll("three")
    cluster.event("instance.fenced", before, where=old.key)
    asleep = tmp_path / "asleep"
    shutil.copytree(cluster.vm(old.key), asleep, ignore=shutil.ignore_patterns("*-delete"))
    cluster.event("replacement.completed", before)
    cluster.converged()
    head = cluster.head()

    # The host of the deleted VM comes back with its disk, as it was when its broker had stopped.
    shutil.copytree(asleep, cluster.vm(old.key))
    cluster.power_on(old.key)
    try:
        heard = cluster.vm(old.key) / "agent" / "records" / "retired.json"
        cluster.until(heard.exists, "its agent to hear that it is retired", timeout_s=30)
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            assert not _listens(old.address)
            time.sleep(0.2)
        assert old.service_id not in cluster.snapshot().brokers
        assert cluster.events(head) == []
    finally:
        cluster.power_cut(old.key)
        shutil.rmtree(cluster.vm(old.key))
    settled(cluster)


def _surges(cluster: LivingCluster, after: int) -> int:
    return sum(e.type == "surge.requested" for e in cluster.events(after))


def _listens(address: str) -> bool:
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex((address, 9092)) == 0
