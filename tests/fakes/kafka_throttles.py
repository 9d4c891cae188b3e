"""Replication throttles of the cluster in memory, as they are set. Part of `FakeKafka`."""

from collections.abc import Mapping

from controlplane.kafka.throttle import CLUSTER_DEFAULT, FOLLOWER_RATE, LEADER_RATE, ThrottlePlan, reconcile
from planner.observed import TopicPartition
from tests.fakes.kafka_parts import FakeBroker, FakePartition

KEYS = (LEADER_RATE, FOLLOWER_RATE)


class FakeThrottles:
    """`plan` is what is set; brokers that do not serve keep what they had, and tell nothing."""

    def __init__(self, brokers: Mapping[int, FakeBroker], partitions: Mapping[TopicPartition, FakePartition]) -> None:
        self._brokers, self._partitions = brokers, partitions
        self.plan = ThrottlePlan()

    def set(self, plan: ThrottlePlan) -> int:
        """Makes the throttles exactly these. Returns how many keys changed."""
        live = frozenset(b.id for b in self._brokers.values() if b.serves)
        topics = {t: lists for t, lists in plan.topics.items() if any(n.topic == t for n in self._partitions)}
        wanted = ThrottlePlan(plan.leader_bytes_per_s, plan.follower_bytes_per_s, topics)
        changes = reconcile(self.plan, wanted, live=live)
        unreachable, before = {b for b in self._brokers if b not in live}, self.plan
        leaders = kept_rates(before.leader_bytes_per_s, plan.leader_bytes_per_s, unreachable)
        followers = kept_rates(before.follower_bytes_per_s, plan.follower_bytes_per_s, unreachable)
        self.plan = ThrottlePlan(leaders, followers, topics)
        return len(changes)

    def defaults(self) -> dict[str, str]:
        """Of the whole cluster, by key."""
        each = zip(KEYS, (self.plan.leader_bytes_per_s, self.plan.follower_bytes_per_s), strict=True)
        return {key: str(rates[CLUSTER_DEFAULT]) for key, rates in each if CLUSTER_DEFAULT in rates}

    def change_defaults(self, changes: Mapping[str, str | None]) -> None:
        """Sets and deletes those of the whole cluster; other keys are none of it."""
        leaders, followers = dict(self.plan.leader_bytes_per_s), dict(self.plan.follower_bytes_per_s)
        for key, rates in zip(KEYS, (leaders, followers), strict=True):
            if key in changes:
                rates.pop(CLUSTER_DEFAULT, None)
            if value := changes.get(key):
                rates[CLUSTER_DEFAULT] = int(value)
        self.plan = ThrottlePlan(leaders, followers, self.plan.topics)

    def visible(self) -> ThrottlePlan:
        """What those that serve tell."""
        return visible(self.plan, {b.id for b in self._brokers.values() if b.serves})


def kept_rates(seen: Mapping[int, int], wanted: Mapping[int, int], unreachable: set[int]) -> dict[int, int]:
    """Rates afterwards: what is wanted, and on brokers that cannot be asked what was there."""
    kept = {b: r for b, r in seen.items() if b in unreachable}
    reachable = {b: r for b, r in wanted.items() if b == CLUSTER_DEFAULT or b not in unreachable}
    return kept | reachable


def visible(throttles: ThrottlePlan, live: set[int]) -> ThrottlePlan:
    """Only a live broker tells its own rates."""

    def told(rates: Mapping[int, int]) -> dict[int, int]:
        return {b: r for b, r in rates.items() if b in live or b == CLUSTER_DEFAULT}

    return ThrottlePlan(told(throttles.leader_bytes_per_s), told(throttles.follower_bytes_per_s), throttles.topics)
