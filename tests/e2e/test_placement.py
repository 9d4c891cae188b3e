"""Replicas in one zone are moved apart, lists that one broker heads are turned: real brokers, audited traffic."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from planner.observed import KafkaSnapshot, TopicPartition
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(460)]

THROTTLE_MIB_PER_S = 2
SPEC = ClusterSpec(
    name="places", sizes={"one": 1, "two": 1, "three": 3}, throttle_mib_per_s=THROTTLE_MIB_PER_S, linger_s=1
)
"""Zone c has three brokers, so that all replicas of a partition fit into it."""


def _zones(seen: KafkaSnapshot, replicas: tuple[int, ...]) -> set[str]:
    return {seen.brokers[b].rack for b in replicas}


def _of(seen: KafkaSnapshot, prefixes: tuple[str, ...]) -> list[tuple[TopicPartition, tuple[int, ...]]]:
    return [(p.name, p.replicas) for p in seen.partitions if p.name.topic.startswith(prefixes)]


def _condition(cluster: LivingCluster) -> tuple[bool, str, str]:
    found = [c for c in cluster.detail().conditions if c.type == "Misplaced"]
    return (found[0].status, found[0].reason, found[0].message) if found else (False, "", "")


def _together(cluster: LivingCluster) -> int:
    """Somebody moves the traffic and half of the ledger into zone c, unthrottled. How many partitions that are."""
    seen = cluster.snapshot()
    in_c = tuple(sorted(b.id for b in seen.brokers.values() if b.rack == "c"))
    assert len(in_c) == 3
    chosen = [p.name for p in seen.partitions if p.name.topic.startswith("traffic") or str(p.name) in HALF]
    turns = {name: in_c[n % 3 :] + in_c[: n % 3] for n, name in enumerate(chosen)}
    assert cluster.kafka().reassign(turns) == {}
    cluster.until(lambda: not cluster.snapshot().moving() or None, "the moves by hand to end", timeout_s=60)
    seen = cluster.snapshot()
    assert [_zones(seen, r) for n, r in _of(seen, ("traffic",))] == [{"c"}] * 6
    return len(chosen)


HALF = frozenset(f"ledger-{n}" for n in range(6))


def _rates(cluster: LivingCluster) -> Iterator[int]:
    """Throttles as they are while the batches run, looked at until the last one has ended."""
    while True:
        seen = cluster.snapshot()
        if seen.moving():
            yield max((*seen.throttles.leader_rate.values(), *seen.throttles.follower_rate.values()), default=0)
        elif all(len(_zones(seen, r)) == 3 for _, r in _of(seen, ("traffic", "ledger"))):
            return


def test_what_somebody_put_into_one_zone_is_told_then_moved_apart_under_traffic(living_cluster: LivingCluster) -> None:
    """`traffic` fails on a lost acknowledged record and below min ISR, `settled` on what is not at rest."""
    cluster = living_cluster
    with traffic(cluster.bootstrap):
        count = _together(cluster)
        cluster.until(lambda: _condition(cluster)[0] or None, "the condition", timeout_s=90)
        status, reason, message = _condition(cluster)
        assert (status, reason) == (True, "SharedZone")
        assert "has 3 of 3 replicas" in message
        assert "balance.placement.correct` is false" in message
        assert not [e for e in cluster.events() if e.type == "topics.replication_requested"], "nobody has asked yet"
        before = cluster.head()
        cluster.declare(replace(SPEC, balance={"placement": {"correct": True}}))
        cluster.event("topics.replication_requested", before)
        rates = list(_rates(cluster))
        settled(cluster)
    assert rates, "seen while they ran"
    assert set(rates) == {THROTTLE_MIB_PER_S * 1024 * 1024}
    asked = [e.data for e in cluster.events(before) if e.type == "topics.replication_requested"]
    assert {data["cause"] for data in asked} == {"zones"}
    moves = [m for data in asked for m in data["moves"]]
    assert len(moves) == count, "each partition once"
    assert all(m["before"][0] == m["after"][0] for m in moves), "preferred leaders stay"
    assert all(len(data["moves"]) <= 20 for data in asked)
    assert sum(data["bytes"] for data in asked) > 0
    assert _condition(cluster)[:2] == (False, "Free")
    seen = cluster.snapshot()
    assert all(len(_zones(seen, r)) == 3 for _, r in _of(seen, ("ledger",)))


def test_lists_that_one_broker_heads_are_turned_under_traffic_and_nothing_is_copied(
    living_cluster: LivingCluster,
) -> None:
    """Who made the topic put the same broker first in each list."""
    cluster = living_cluster
    one, two = (cluster.instance(node).service_id for node in ("one-a-0", "two-b-0"))
    third = sorted(i.service_id for i in cluster.detail().instances if i.node.startswith("three-"))
    lists = [[one, two, third[n % 3]] for n in range(24)]
    admin = AdminClient({"bootstrap.servers": ",".join(cluster.bootstrap()), "log_level": 0})
    topic = NewTopic("headed", len(lists), replica_assignment=lists, config={"min.insync.replicas": "2"})
    with traffic(cluster.bootstrap):
        before = cluster.head()
        admin.create_topics([topic])["headed"].result(20)
        cluster.until(lambda: _most_led(cluster) >= len(lists) or None, "one broker to lead it all", timeout_s=20)
        cluster.declare(replace(SPEC, balance={"preferredLeaders": "even"}))
        asked = cluster.event("topics.replication_requested", before, within_s=120).data
        cluster.event("topics.replication_ended", before)
        cluster.until(lambda: _most_led(cluster) <= 12 or None, "leaders to follow", timeout_s=60)
        settled(cluster)
    assert (asked["cause"], asked["bytes"]) == ("leaders", 0)
    assert all(sorted(m["before"]) == sorted(m["after"]) for m in asked["moves"])
    seen = cluster.snapshot()
    assert {frozenset(p.replicas) for p in seen.partitions if p.name.topic == "headed"} == {
        frozenset(own) for own in lists
    }


def _most_led(cluster: LivingCluster) -> int:
    """Partitions of the broker that leads most. An even share of the five is about ten."""
    return max(Counter(p.leader for p in cluster.snapshot().partitions).values())
