"""Id, volume and address pass from VM to VM while something dies: controllers always, brokers by `reattach`."""

from dataclasses import dataclass

import pytest

from tests.e2e.cluster_spec import CONTROLLERS, ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.running import ledger_files
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(400)]

SPEC = ClusterSpec(name="handed", controllers=3, strategy="reattach", join_deadline_s=20)

LAGGING = 1_000_000
"""Listings that repeat the last one: until the switch is cleared."""


def test_a_handover_outlives_the_server_and_a_successor_that_never_comes(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    before, known = cluster.head(), _controllers(cluster)
    with traffic(cluster.bootstrap):
        cluster.roll(CONTROLLERS)
        asked = cluster.event("release.requested", before).data
        # The run ends, nobody has the volume and the address, and the listing does not show it yet.
        cluster.faults.set_counter("list_lag", LAGGING)
        cluster.until(lambda: cluster.run_state(asked["intent"]) == "succeeded", "the release run", timeout_s=30)
        assert not _recorded(cluster, before, "release.completed")
        unborn = cluster.next_instance(_next_after(cluster, asked["key"]))
        cluster.server.kill()
        cluster.faults.clear()
        cluster.faults.set_vm("never_boots", {unborn: 1})
        cluster.start_server()

        cluster.event("bind.completed", before)
        cluster.event("instance.join_failed", before, where=unborn)
        node = unborn.rpartition(".")[0]
        assert node not in {k.rpartition(".")[0] for k in _recorded(cluster, before, "instance.fenced")}, (
            "its predecessor serves on until the next successor is there"
        )
        settled(cluster)
    assert _controllers(cluster) == known, "each node has kept its id, its address and its disk"
    assert sorted(_recorded(cluster, before, "replacement.completed", "node")) == sorted(known)


def test_a_handover_waits_for_the_controller_of_another_node_and_says_so(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    before, known = cluster.head(), _controllers(cluster)
    leader = cluster.snapshot().quorum.leader
    followers = [i for i in cluster.detail().instances if i.service == "controller" and i.service_id != leader]
    frozen = max(followers, key=lambda i: i.node)  # the other follower has the first turn
    first = min(followers, key=lambda i: i.node)
    with traffic(cluster.bootstrap):
        # The successor comes late, so that Kafka has missed the frozen controller by then.
        cluster.faults.set_vm("boots_late_s", {cluster.next_instance(first.node): 5})
        with cluster.frozen(frozen.key):
            cluster.roll(CONTROLLERS)
            blocked = cluster.blocked("QuorumGate", within_s=60)
            assert "others are not caught up" in blocked.message
            assert str(frozen.service_id) in blocked.message
            assert not _recorded(cluster, before, "instance.fence_requested")
            assert not _recorded(cluster, before, "release.requested")
        cluster.faults.clear()
        settled(cluster)
    assert _controllers(cluster) == known
    assert not _recorded(cluster, before, "instance.lost"), "who was only silent is not replaced as lost"


def test_a_reattached_broker_waits_for_every_replica_then_takes_its_disk_along(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    old, other = cluster.instance("one-a-0"), cluster.instance("three-c-0")
    before, successor, disk = cluster.head(), cluster.next_instance("one-a-0"), ledger_files(cluster, old.key)
    with traffic(cluster.bootstrap):
        # The successor comes late, so that Kafka has missed the frozen broker by then.
        cluster.faults.set_vm("boots_late_s", {successor: 12})
        with cluster.frozen(other.key):
            cluster.roll("one")
            away = f"broker {other.service_id} ({other.key}, rack c) is away since"
            said = cluster.says(f"handover of one-a-0: {away}", within_s=60)
            assert said
            assert not _recorded(cluster, before, "instance.fence_requested")
        cluster.faults.clear()
        cluster.event("replacement.completed", before)
        settled(cluster)
    new = cluster.instance("one-a-0")
    assert (new.key, new.service_id) == (successor, old.service_id)
    assert ledger_files(cluster, new.key) == disk, "the very same files, not a copy of them"
    assert not _recorded(cluster, before, "drain.requested")
    assert cluster.instance("three-c-0").key == other.key


@dataclass(frozen=True)
class Identity:
    """What a node keeps for ever, whichever VM it is on."""

    service_id: int
    address: str
    directory_id: str


def _controllers(cluster: LivingCluster) -> dict[str, Identity]:
    """Controller node -> what it must keep, as Kedge and as the quorum itself tell it."""
    voters = cluster.voters()
    there = [i for i in cluster.detail().instances if i.service == "controller"]
    assert set(voters) == {i.service_id for i in there}
    return {i.node: Identity(i.service_id, i.address, voters[i.service_id]) for i in there}


def _next_after(cluster: LivingCluster, key: str) -> str:
    """Node whose turn is next: the quorum's leader comes last."""
    leader = cluster.snapshot().quorum.leader
    here = key.rpartition(".")[0]
    there = [i for i in cluster.detail().instances if i.service == "controller"]
    left = {i.node for i in there if i.node != here and i.service_id != leader}
    assert len(left) == 1, f"{key} is handed over, {leader} leads: {sorted(left)} are left"
    return left.pop()


def _recorded(cluster: LivingCluster, after: int, kind: str, field: str = "") -> list[str]:
    """What the events of a type name after a position: `field`, or the instances they are about."""
    found = [e.data for e in cluster.events(after) if e.type == kind]
    if field:
        return [d[field] for d in found]
    return [k for d in found for k in d.get("keys", [d.get("key", d.get("intent", ""))])]
