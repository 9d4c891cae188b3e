"""Looks at consumer groups for tests."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from planner.consumers.seen import GroupSeen, GroupsSeen, MemberSeen
from planner.observed import TopicPartition

START = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
P0, P1 = TopicPartition("clicks", 0), TopicPartition("clicks", 1)


def a_member(*partitions: TopicPartition, topics: tuple[str, ...] = ("clicks",)) -> MemberSeen:
    return MemberSeen("m1", "app", "10.0.0.7", topics, partitions)


def a_group(
    committed: Mapping[TopicPartition, int],
    *members: MemberSeen,
    name: str = "billing",
    state: str = "Stable",
    coordinator: int = 1000,
) -> GroupSeen:
    return GroupSeen(name, state if members else "Empty", "classic", coordinator, members, committed)


def a_look(
    after_s: float,
    ends: Mapping[TopicPartition, int],
    *groups: GroupSeen,
    partitions: int = 2,
    silent: tuple[int, ...] = (),
) -> GroupsSeen:
    return GroupsSeen(START + timedelta(seconds=after_s), groups, ends, {"clicks": partitions}, silent)
