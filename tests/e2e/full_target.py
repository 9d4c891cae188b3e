"""The disk of a target is full while it catches up: the drain waits and says why, and goes on once there is room.

Real brokers, each volume a file system of its own size. What was told meanwhile is printed. A broker seconds old has
flushed nothing: its copy of the metadata log is what does not outlive it (`agent.services.metadata_log`).
"""

import re
import time
from dataclasses import replace

from controlplane.api.schemas import chaos as chaos_api
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic

ROLLED = "one-a-0"
LASTS_S = 45
BACK_WITHIN_S = 300.0
"""A minute at the most until its agent starts it again, then the copies, at 1 MiB/s."""
DESTRUCTIVE = {"instance.lost", "stop.requested", "instance.fenced", "retire.requested", "retire.completed"}


def a_target_fills_up_while_it_catches_up(cluster: LivingCluster) -> None:
    """1 MiB/s: the copy of the ledger lasts longer than it takes to fill the disk it goes to. The server runs with
    `KEDGE_CLOUDS__ENFORCE_DISK=1`."""
    old, successor = cluster.instance(ROLLED).key, cluster.next_instance(ROLLED)
    with traffic(cluster.bootstrap, may_fall_below_min_isr=True):
        before = cluster.head()
        cluster.declare(replace(cluster.spec.rolled("one"), throttle_mib_per_s=1))
        cluster.event("drain.batch_started", before)
        target = next(i for i in cluster.detail().instances if i.key == successor)
        moving = {p.name for p in cluster.moving().moving() if target.service_id in p.adding}
        assert moving, "the successor catches up"
        head = cluster.head()
        order = {"fault": "full-disk", "vms": [successor], "for_s": LASTS_S, "reason": "e2e", "force": True}
        cluster.client.inject_chaos(cluster.spec.name, chaos_api.ChaosIn.model_validate(order))
        told = _watched(cluster)
        print("told:", *sorted(told), sep="\n  ")
        assert any(f"broker {target.service_id}" in words for words in told), told
        during = {e.type for e in cluster.events(head)}
        assert not during & DESTRUCTIVE, during
        assert old in cluster.vms()
        short = {p.name for p in cluster.snapshot().partitions if target.service_id not in p.isr}
        assert moving & short, "what the full disk could not take is not taken for copied"
        cluster.event("chaos.ended", head)
        cluster.event("replacement.completed", before, within_s=BACK_WITHIN_S)
        settled(cluster)
    assert old not in cluster.vms()
    assert not [e for e in cluster.events(before) if e.type == "instance.lost"]
    hosted = {b for p in cluster.snapshot().partitions for b in p.isr}
    assert hosted == {i.service_id for i in cluster.detail().instances if i.service == "broker"}


def _watched(cluster: LivingCluster) -> set[str]:
    """What is said of the cluster for as long as the disk is full, figures left out."""
    began, told = time.monotonic(), set[str]()
    while time.monotonic() - began < LASTS_S - 5:
        detail = cluster.detail()
        told.add(detail.sentence)
        told |= {f"{c.type}={c.reason}: {c.message}" for c in detail.conditions if c.status}
        time.sleep(0.5)
    return {re.sub(r"\d+\.\d+", "n", words) for words in told}
