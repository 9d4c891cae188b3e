"""The active controller of three stands still in the middle of a drain: moves hang until another one leads.

All of it (SIGSTOP): its VM and its agent are well, and it answers nobody; who asked it last waits until that request is
over. Or the one thread that carries out what it decides: then the others of its quorum hear it as before, and it leads
on. How long each took is printed.
"""

import os
import time
from dataclasses import replace

import pytest

from controlplane.api.schemas import instances as instance_api
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.frozen import standing_still
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.running import java_process
from tests.e2e.stopped_thread import stopped_thread
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(450)]

SPEC = ClusterSpec(name="deaf", controllers=3, hung_after_s=8)
DRAINED_WITHIN_S = 240.0
"""Each broker waits half a minute for its answer, one after the other; and looks that fail come less often."""

CURED_WITHIN_S = 200.0
"""Found after 30 to 45 s, and cured after a minute of that."""

CURES = {"move_cure.requested", "election_cure.requested", "restart.requested", "node.replace_requested"}
HARM = {"instance.lost", "healing.requested", "voter.remove_requested"}


def test_moves_hang_while_the_active_controller_stands_still_and_go_on_under_another_one(
    living_cluster: LivingCluster,
) -> None:
    cluster, voters = living_cluster, living_cluster.voters()
    with traffic(cluster.bootstrap):
        before = cluster.roll_slowly("one")
        deaf = _active(cluster)
        with standing_still([java_process(cluster, deaf.key)]):
            began = time.monotonic()
            told = cluster.blocked("KafkaUnknown")
            assert "drain of one-a-0" in told.message
            assert "Look again at the next tick" in told.message
            successor = cluster.until(lambda: _another(cluster, deaf.service_id), "another to lead", timeout_s=120)
            print(f"told after {time.monotonic() - began:.0f} s that Kafka is not known; controller {successor} leads")
            cluster.event("instance.drained", before, within_s=DRAINED_WITHIN_S)
            print(f"drained {time.monotonic() - began:.0f} s after controller {deaf.service_id} stood still")
        cluster.declare(replace(cluster.spec, throttle_mib_per_s=64))
        settled(cluster)
    types = {e.type for e in cluster.events(before)}
    assert not types & (CURES | HARM), "Kafka has cured it, and who was only silent is not replaced"
    assert cluster.voters() == voters
    assert cluster.instance(deaf.node).key == deaf.key


@pytest.mark.skipif(os.geteuid() != 0, reason="to hold a thread of another process needs root")
def test_a_controller_that_decides_nothing_is_started_anew_though_kafka_answers_nobody(
    living_cluster: LivingCluster,
) -> None:
    cluster, voters = living_cluster, living_cluster.voters()
    with traffic(cluster.bootstrap):
        before = cluster.roll_slowly("two")
        stuck = _active(cluster)
        java = java_process(cluster, stuck.key)
        with stopped_thread(java, "quorum-controller"):
            began = time.monotonic()
            told = cluster.blocked("KafkaUnknown")
            assert "drain of two-b-0" in told.message
            asked = cluster.event("healing.requested", before, within_s=CURED_WITHIN_S)
            assert (asked.data["key"], asked.data["finding"]) == (stuck.key, "controller_stuck")
            print(f"cured {time.monotonic() - began:.0f} s after it stood still: {asked.data['reason']}")
            # A traced thread keeps its process from ending: it is let go once the agent has begun to end it.
            cluster.until(lambda: _is_ending(cluster, stuck.key) or None, "its process to be ended", timeout_s=60)
        successor = cluster.until(lambda: _another(cluster), "a controller to lead", timeout_s=120)
        print(f"controller {successor} leads {time.monotonic() - began:.0f} s after it stood still")
        cluster.event("instance.drained", before, within_s=DRAINED_WITHIN_S)
        print(f"drained {time.monotonic() - began:.0f} s after it stood still")
        cluster.declare(replace(cluster.spec, throttle_mib_per_s=64))
        settled(cluster)
    types = [e.type for e in cluster.events(before)]
    assert types.count("restart.requested") == types.count("restart.completed") == 1
    assert not set(types) & (HARM - {"healing.requested"})
    assert cluster.voters() == voters
    assert cluster.instance(stuck.node).key == stuck.key


def _active(cluster: LivingCluster) -> instance_api.InstanceOut:
    leader = cluster.snapshot().quorum.leader
    (found,) = (i for i in cluster.detail().instances if i.service == "controller" and i.service_id == leader)
    return found


def _is_ending(cluster: LivingCluster, key: str) -> bool:
    return any(i.key == key and i.reported_state == "stopping" for i in cluster.detail().instances)


def _another(cluster: LivingCluster, deaf: int = -1) -> int | None:
    leader = cluster.snapshot().quorum.leader
    return leader if leader not in (-1, deaf) else None
