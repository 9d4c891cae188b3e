"""The controllers of a real cluster move from one region of the local cloud to another while clients write."""

from dataclasses import replace

import pytest

from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(460)]

SPEC = ClusterSpec(name="steering", controllers=3, controller_zones=3, join_deadline_s=60)
HERE, THERE = "local-1", "local-2"


def test_three_controllers_move_under_their_ids_and_nothing_is_lost(living_cluster: LivingCluster) -> None:
    """The server is killed between two votes of the first one."""
    cluster, before, known = living_cluster, living_cluster.head(), living_cluster.voters()
    assert set(known) == {100, 101, 102}
    old = {i.address for i in cluster.detail().instances if i.service == "controller"}
    with traffic(cluster.bootstrap):
        cluster.declare(replace(SPEC, controllers_in=THERE))
        cluster.event("voter.remove_requested", before)
        cluster.restart_server()
        settled(cluster, within_s=300)
    now = cluster.voters()
    assert set(now) == set(known), "the same ids vote"
    assert not set(now.values()) & set(known.values()), "from new disks"
    new = {i.address for i in cluster.detail().instances if i.service == "controller"}
    assert not old & new, "at new addresses"
    assert {key for key in cluster.vms_in(HERE) if key.startswith("controllers")} == set()
    changes = [e.type for e in cluster.events(before) if e.type.startswith("voter.")]
    one = ["voter.remove_requested", "voter.removed", "voter.add_requested", "voter.added"]
    assert changes == one * 3, "one change at a time, the quorum full again after each"
    restarted = [e.data["key"] for e in cluster.events(before) if e.type == "restart.requested"]
    assert sorted(restarted) == sorted(set(restarted)), "each broker is told once"
    assert len(restarted) == 3


def test_the_cluster_lives_without_any_of_the_addresses_it_was_born_with(living_cluster: LivingCluster) -> None:
    """The quorum's leader is killed: brokers find the next one, though no address of their birth answers any more."""
    cluster, before = living_cluster, living_cluster.head()
    leader = cluster.snapshot().quorum.leader
    key = next(i.key for i in cluster.detail().instances if i.service == "controller" and i.service_id == leader)
    with traffic(cluster.bootstrap):
        for kafka in cluster.running(key, "kafka.Kafka"):
            kafka.kill()
        settled(cluster, within_s=120)
    assert cluster.snapshot().quorum.leader in cluster.voters()
    assert [e.type for e in cluster.events(before) if e.type.startswith("voter.")] == []
