"""Members of consumer groups, out of what brokers tell of them.

What a member of a classic group subscribes to, and was given, are bytes that clients made: Kafka passes them on
unread, so they may be anything. What cannot be read is told of that member; it says nothing of another one, nor of
another group.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from kafka.protocol.consumer import ConsumerProtocolAssignment, ConsumerProtocolSubscription

from events.spec.scalars import TOPIC_NAME
from planner.consumers.seen import MemberSeen
from planner.observed import TopicPartition

METADATA_UNREADABLE = "its client's metadata cannot be read"
ASSIGNMENT_UNREADABLE = "the assignment its group's leader sent cannot be read"

_Part = TypeVar("_Part")
_LEGAL_TOPIC = re.compile(TOPIC_NAME, re.ASCII)


def classic_member(member: Any) -> MemberSeen:
    """One of `DescribeGroups`. Both kinds of bytes are of the consumers' own protocol (`ConsumerProtocolSubscription`,
    `ConsumerProtocolAssignment`), empty while the group rebalances. Never raises for what they hold."""
    topics, no_topics = _read(member.member_metadata, _subscribed, METADATA_UNREADABLE)
    partitions, no_partitions = _read(member.member_assignment, _given, ASSIGNMENT_UNREADABLE)
    return MemberSeen(
        member.member_id,
        member.client_id,
        member.client_host.lstrip("/"),
        _legal(topics),
        tuple(p for p in partitions if _LEGAL_TOPIC.fullmatch(p.topic)),
        unreadable=no_topics or no_partitions,
    )


def modern_member(member: Any) -> MemberSeen:
    """One of `ConsumerGroupDescribe` (KIP-848): its broker has read what it says."""
    partitions = tuple(
        TopicPartition(t.topic_name, n) for t in member.assignment.topic_partitions for n in t.partitions
    )
    topics = _legal(member.subscribed_topic_names)
    return MemberSeen(member.member_id, member.client_id, member.client_host.lstrip("/"), topics, partitions)


def _read(
    content: bytes | None, decode: Callable[[bytes], Iterable[_Part]], unreadable: str
) -> tuple[tuple[_Part, ...], str]:
    if not content:
        return (), ""
    try:
        return tuple(decode(content)), ""
    except Exception:  # noqa: BLE001 - the library's decoder raises whatever foreign bytes lead it to
        return (), unreadable


def _subscribed(content: bytes) -> Iterable[str]:
    topics: Iterable[str] = ConsumerProtocolSubscription.decode(content).topics
    return topics


def _given(content: bytes) -> Iterable[TopicPartition]:
    return [TopicPartition(p.topic, p.partition) for p in ConsumerProtocolAssignment.decode(content).partitions()]


def _legal(topics: Iterable[str]) -> tuple[str, ...]:
    """Brokers are asked about these: no topic has another name, and one that is no text would spoil the question."""
    return tuple(t for t in topics if isinstance(t, str) and _LEGAL_TOPIC.fullmatch(t))
