from collections.abc import Mapping

import pytest

from planner.consumers.judgement import judged
from planner.consumers.reported import GroupsStatus, GroupStatus, PartitionStatus
from planner.consumers.seen import GroupSeen, GroupsSeen
from planner.observed import TopicPartition
from tests.unit.planner.group_samples import P0, P1, START, a_group, a_look, a_member


def told_after(*samples: GroupsSeen) -> GroupsStatus:
    told: GroupsStatus | None = None
    for look in samples:
        told = judged(look, told)
    assert told is not None
    return told


def the_group(*samples: GroupsSeen) -> GroupStatus:
    return told_after(*samples).groups[0]


def partition(group: GroupStatus, number: int = 0) -> PartitionStatus:
    return next(p for p in group.partitions if p.partition == number)


def still(group: GroupSeen, *, ends: Mapping[float, int]) -> list[GroupsSeen]:
    """The same group again and again while the log of partition 0 ends elsewhere."""
    return [a_look(after_s, {P0: end, P1: 0}, group) for after_s, end in ends.items()]


READER = a_group({P0: 7, P1: 0}, a_member(P0, P1))


def test_lag_is_what_lies_between_the_committed_offset_and_the_end_of_the_log() -> None:
    group = the_group(a_look(0, {P0: 10, P1: 0}, READER))
    assert [p.lag for p in group.partitions] == [3, 0]
    assert (group.lag, group.word, group.trend_per_s) == (3, "Reading", None)
    assert partition(group).member == "app at 10.0.0.7"


def test_an_offset_that_stands_while_its_log_grows_is_stuck_after_five_minutes() -> None:
    samples = still(READER, ends={0: 10, 60: 11, 180: 12, 299: 13})
    assert the_group(*samples).word == "Reading"
    later = the_group(*samples, a_look(300, {P0: 14, P1: 0}, READER))
    assert later.word == "Stuck"
    assert [(p.partition, p.since) for p in later.stuck] == [(0, START)]


def test_an_offset_behind_a_log_that_does_not_grow_is_not_called_stuck() -> None:
    samples = still(READER, ends=dict.fromkeys((0, 100, 200, 300, 400), 10))
    assert the_group(*samples).word == "Reading"


def test_one_that_stood_and_moves_again_is_counted_anew() -> None:
    moved = a_group({P0: 8, P1: 0}, a_member(P0, P1))
    samples = still(READER, ends={0: 10, 200: 11})
    group = the_group(*samples, a_look(310, {P0: 20, P1: 0}, moved), a_look(500, {P0: 30, P1: 0}, moved))
    assert group.word == "Reading"
    assert partition(group).still_since == samples[0].at.replace(minute=5, second=10)


def test_a_group_that_has_read_everything_is_never_stuck() -> None:
    done = a_group({P0: 10, P1: 0}, a_member(P0, P1))
    samples = still(done, ends=dict.fromkeys((0, 200, 400, 600), 10))
    assert partition(the_group(*samples)).still_since is None


def test_a_group_that_comes_back_after_a_night_is_not_stuck_at_once() -> None:
    away = a_group({P0: 7, P1: 0})
    samples = [a_look(t, {P0: 10 + t, P1: 0}, away) for t in (0, 200, 400)]
    assert the_group(*samples).word == "NoMembers"
    assert the_group(*samples, a_look(600, {P0: 900, P1: 0}, READER)).word == "Reading"


def test_two_samples_far_from_each_other_are_not_compared() -> None:
    group = the_group(a_look(0, {P0: 10, P1: 0}, READER), a_look(3600, {P0: 99, P1: 0}, READER))
    assert (group.word, group.trend_per_s) == ("Reading", None)


def test_a_partition_of_a_subscribed_topic_that_no_member_was_given_is_unread_and_told_after_five_minutes() -> None:
    half = a_group({P0: 10}, a_member(P0))
    samples = [a_look(t, {P0: 10, P1: 4}, half) for t in (0, 150, 300)]
    early = the_group(*samples[:2])
    assert (partition(early, 1).state, early.unread, early.word) == ("Unread", (), "Reading")
    late = the_group(*samples)
    assert [p.partition for p in late.unread] == [1]
    assert late.word == "Unread"


def test_a_topic_that_no_member_subscribes_to_any_more_is_neither_unread_nor_stuck_nor_lag() -> None:
    old = TopicPartition("old", 0)
    group = a_group({P0: 10, old: 1}, a_member(P0))
    samples = [
        GroupsSeen(a_look(t, {}).at, (group,), {P0: 10, old: 5 + t}, {"clicks": 1, "old": 1}) for t in (0, 200, 400)
    ]
    found = the_group(*samples)
    assert [(p.topic, p.state) for p in found.partitions] == [("clicks", "Reading"), ("old", "NotSubscribed")]
    assert (found.lag, found.word) == (0, "Reading")


def test_a_topic_that_is_gone_is_left_out() -> None:
    gone = TopicPartition("gone", 0)
    group = the_group(a_look(0, {P0: 10, P1: 0}, a_group({P0: 7, gone: 3}, a_member(P0, P1))))
    assert {p.topic for p in group.partitions} == {"clicks"}


def test_a_group_that_never_settles_is_stuck_like_one_that_has() -> None:
    unsettled = a_group({P0: 7, P1: 0}, a_member(topics=()), state="PreparingRebalance")
    samples = still(unsettled, ends={0: 10, 200: 11, 400: 12})
    assert the_group(*samples[:2]).word == "Rebalancing"
    assert the_group(*samples).word == "Stuck"


@pytest.mark.parametrize(("end", "trend"), [(70, 1.0), (40, 0.5), (10, 0.0)])
def test_the_trend_is_how_fast_the_lag_grows(end: int, trend: float) -> None:
    group = the_group(a_look(0, {P0: 10, P1: 0}, READER), a_look(60, {P0: end, P1: 0}, READER))
    assert group.trend_per_s == trend


def test_the_trend_is_not_measured_over_a_moment() -> None:
    samples = [a_look(t, {P0: 10 + t, P1: 0}, READER) for t in (0, 40, 41)]
    assert the_group(*samples).trend_per_s == 1.0
    assert the_group(*samples).base_at == START


def test_an_offset_or_an_end_that_is_not_known_is_no_lag() -> None:
    group = the_group(a_look(0, {P1: 9}, a_group({P0: 7}, a_member(P0, P1))))
    assert [(p.state, p.lag) for p in group.partitions] == [("Reading", None), ("NoOffset", None)]
    assert group.lag is None


def test_groups_of_a_broker_that_was_silent_are_kept_as_they_were() -> None:
    other = a_group({P0: 1}, a_member(P0), name="audit", coordinator=1001)
    told = told_after(a_look(0, {P0: 10, P1: 0}, READER, other), a_look(60, {P0: 10, P1: 0}, other, silent=(1000,)))
    assert [(g.name, g.at > START) for g in told.groups] == [("audit", True), ("billing", False)]
    assert told.silent == (1000,)


def test_a_group_that_is_gone_is_forgotten() -> None:
    assert told_after(a_look(0, {P0: 10, P1: 0}, READER), a_look(60, {})).groups == ()


def test_an_offset_beyond_the_log_is_told_as_that_and_its_lag_is_not_0() -> None:
    """Reported: 1000 committed on a log that ends at 14 was "lag 0", though its 14 records may all be unread."""
    group = the_group(a_look(0, {P0: 14, P1: 0}, a_group({P0: 1000, P1: 0})))
    assert [(p.state, p.lag) for p in group.partitions] == [("BeyondEnd", None), ("NoMembers", 0)]
    assert (group.word, [p.partition for p in group.beyond]) == ("BeyondEnd", [0])
    alone = the_group(a_look(0, {P0: 14}, a_group({P0: 1000}), partitions=1))
    assert (alone.word, alone.lag) == ("BeyondEnd", None)


def test_a_member_with_an_offset_beyond_the_log_is_not_just_reading() -> None:
    group = the_group(a_look(0, {P0: 14, P1: 0}, a_group({P0: 1000, P1: 0}, a_member(P0, P1))))
    assert (partition(group).state, group.word) == ("BeyondEnd", "BeyondEnd")


def test_one_at_the_very_end_of_its_log_has_read_it() -> None:
    assert partition(the_group(a_look(0, {P0: 14, P1: 0}, a_group({P0: 14, P1: 0})))).lag == 0
