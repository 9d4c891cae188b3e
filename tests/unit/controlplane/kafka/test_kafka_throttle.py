"""Throttle changes are the difference between what Kafka reports and what is wanted, nothing remembered."""

from controlplane.kafka.throttle import (
    CLUSTER_DEFAULT,
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    ConfigChange,
    ThrottlePlan,
    reconcile,
    throttle_for,
)
from planner.observed import TopicPartition

LIVE = frozenset({1, 2, 3, 4})


def test_a_throttle_names_old_replicas_as_leaders_and_new_ones_as_followers() -> None:
    plan = throttle_for(
        [
            (TopicPartition("orders", 10), (1, 2, 3), (4, 2, 3)),
            (TopicPartition("orders", 2), (1, 2), (4, 2)),
            (TopicPartition("still", 0), (1, 2), (2, 1)),
        ],
        bytes_per_s=5,
    )
    assert plan.topics == {"orders": (("2:1", "2:2", "10:1", "10:2", "10:3"), ("2:4", "10:4"))}
    assert plan.leader_bytes_per_s == {1: 5, 2: 5, 3: 5}
    assert plan.follower_bytes_per_s == {4: 5}


def test_setting_a_throttle_sets_both_halves() -> None:
    wanted = ThrottlePlan({1: 7}, {2: 8}, {"t": (("0:1",), ("0:2",))})
    assert reconcile(ThrottlePlan(), wanted, live=LIVE) == (
        ConfigChange("broker", "1", LEADER_RATE, "7"),
        ConfigChange("broker", "2", FOLLOWER_RATE, "8"),
        ConfigChange("topic", "t", LEADER_REPLICAS, "0:1"),
        ConfigChange("topic", "t", FOLLOWER_REPLICAS, "0:2"),
    )


def test_what_is_set_already_is_not_set_again() -> None:
    seen = ThrottlePlan({1: 7}, {2: 8}, {"t": (("1:1", "0:1"), ("0:2",))})
    wanted = ThrottlePlan({1: 7}, {2: 8}, {"t": (("0:1", "1:1"), ("0:2",))})
    assert reconcile(seen, wanted, live=LIVE) == ()


def test_a_left_over_is_removed_wherever_it_hides() -> None:
    seen = ThrottlePlan({CLUSTER_DEFAULT: 1, 3: 2}, {CLUSTER_DEFAULT: 1}, {"old": (("*",), ())})
    assert reconcile(seen, ThrottlePlan(), live=LIVE) == (
        ConfigChange("broker", "-1", LEADER_RATE, None),
        ConfigChange("broker", "3", LEADER_RATE, None),
        ConfigChange("broker", "-1", FOLLOWER_RATE, None),
        ConfigChange("topic", "old", LEADER_REPLICAS, None),
    )


def test_a_dead_broker_is_never_touched() -> None:
    seen, wanted = ThrottlePlan({1: 5}, {2: 5}), ThrottlePlan({2: 9, 1: 9}, {})
    assert reconcile(seen, wanted, live=frozenset({2})) == (
        ConfigChange("broker", "2", LEADER_RATE, "9"),
        ConfigChange("broker", "2", FOLLOWER_RATE, None),
    )


def test_a_changed_rate_is_one_change() -> None:
    seen, wanted = ThrottlePlan({1: 5, 2: 5}, {3: 5}), ThrottlePlan({1: 6, 2: 5}, {3: 5})
    assert reconcile(seen, wanted, live=LIVE) == (ConfigChange("broker", "1", LEADER_RATE, "6"),)
