"""People and their clients do things in the middle of a roll: topics appear, partitions are moved, disks fill up.

What is tried is the roll, whose drain has to bear with them: of `tests/shares.py` it is the main job's, in `rest`.
"""

import os
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from planner.observed import TopicPartition
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(400)]

SHARES_CLUSTER = True

BALLAST_BYTES = 960 * 1024 * 1024
"""Of a disk of 1 GiB: nothing more may go there, since drains stop at 90 %."""


def test_a_topic_created_on_an_emptied_broker_is_moved_before_it_stops(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    brokers = {i.node: i for i in cluster.detail().instances if i.service == "broker"}
    old, others = brokers["one-a-0"], [brokers["two-b-0"].service_id, brokers["three-c-0"].service_id]
    with traffic(cluster.bootstrap) as workload:
        before = cluster.head()
        cluster.declare(replace(cluster.spec.rolled("one"), linger_s=6))
        cluster.event("instance.drained", before)
        _create_on(cluster, "late", [[old.service_id, *others]] * 3)
        written = workload.fill("late", 1024 * 1024)
        assert written > 0
        again = cluster.until(lambda: _drains(cluster, before)[1:], "a second drain", timeout_s=30)
        assert "after it was empty" in again[0]["reason"]
        cluster.event("replacement.completed", before)
        settled(cluster)
        late = [p for p in cluster.snapshot().partitions if p.name.topic == "late"]
        assert [len(p.isr) for p in late] == [3, 3, 3]
        assert all(old.service_id not in p.replicas for p in late)


def test_a_foreign_reassignment_by_hand_is_neither_undone_nor_obeyed(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    old = cluster.instance("two-b-0").service_id
    with traffic(cluster.bootstrap):
        before = cluster.roll_slowly("two")
        ours = [p for p in cluster.snapshot().moving() if p.name.topic == "ledger" and old in p.replicas]
        assert len(ours) >= 2, "the drain is under way"
        # One move is taken back, another partition is sent somewhere else, and stays on the broker that is to leave.
        taken_back, sent_away = ours[-1], ours[-2]
        back = tuple(r for r in sent_away.replicas if r not in sent_away.adding)
        assert cluster.kafka().cancel([taken_back.name]) == {}
        assert cluster.kafka().reassign({sent_away.name: tuple(reversed(back))}) == {}
        cluster.event("replacement.completed", before)
        settled(cluster)
        assert not cluster.snapshot().hosted_by(old)
        rounds = [d["round"] for d in _drains(cluster, before)]
        assert rounds == [1, 2], "what the stranger left is drained in a second round"
        after = next(p for p in cluster.snapshot().partitions if p.name == sent_away.name)
        assert set(back) - {old} < set(after.replicas), "what could stay stayed, in the order that evens the leaders"


def test_a_nearly_full_target_is_refused_with_the_numbers(living_cluster: LivingCluster) -> None:
    """Two brokers in rack c become one again, and what the one that leaves holds has to stay in that rack."""
    cluster = living_cluster
    alone = cluster.spec
    cluster.declare(replace(alone, sizes={**alone.sizes, "three": 2}))
    cluster.converged()
    staying, leaving = cluster.instance("three-c-0"), cluster.instance("three-c-1")
    others = [cluster.instance(node).service_id for node in ("one-a-0", "two-b-0")]
    with traffic(cluster.bootstrap) as workload:
        _create_on(cluster, "wide", [[leaving.service_id, *others]] * 3)
        workload.fill("wide", 8 * 1024 * 1024)
        ballast = cluster.vm(staying.key) / "volumes" / "data" / "ballast"
        with ballast.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, BALLAST_BYTES)
        try:
            cluster.until(lambda: cluster.free_bytes(staying.key) < 2**26, "the agent to see it", timeout_s=60)
            before = cluster.head()
            cluster.declare(alone)
            refused = cluster.event("drain.plan_failed", before).data
            assert refused["infeasible"]
            assert "in rack c" in refused["reason"]
            assert "MiB" in refused["reason"]
            assert "planning again" in cluster.says(refused["reason"])
            assert not cluster.snapshot().moving()
        finally:
            ballast.unlink()
        cluster.event("retire.completed", before)
        settled(cluster)
        assert all(len(p.isr) == 3 for p in cluster.snapshot().partitions if p.name.topic == "wide")


def _drains(cluster: LivingCluster, after: int) -> list[dict[str, Any]]:
    return [e.data for e in cluster.events(after) if e.type == "drain.requested"]


def _create_on(cluster: LivingCluster, topic: str, assignment: list[list[int]]) -> None:
    """A topic placed by hand: Kafka lets anybody put replicas on a broker that is about to leave."""
    admin = AdminClient({"bootstrap.servers": ",".join(cluster.bootstrap()), "log_level": 0})
    config = {"min.insync.replicas": "2"}
    admin.create_topics([NewTopic(topic, len(assignment), replica_assignment=assignment, config=config)])[topic].result(
        20
    )
    wanted = {TopicPartition(topic, n) for n in range(len(assignment))}
    cluster.until(
        lambda: wanted <= {p.name for p in cluster.snapshot().partitions if p.leader >= 0},
        f"leaders of {topic}",
        timeout_s=20,
    )
