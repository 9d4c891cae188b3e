"""Reads consumer groups over a Connection: who is a member, what was committed, where the logs end.

A broker lists and describes the groups it coordinates, so all brokers are asked and none for another's. Bounded in
groups and partitions; a broker that does not answer is told of, never guessed for.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from kafka.protocol.admin import DescribeGroupsRequest, ListGroupsRequest
from kafka.protocol.consumer import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    ListOffsetsRequest,
    OffsetFetchRequest,
)
from kafka.protocol.metadata import MetadataRequest

from controlplane.kafka.deadline import Deadline
from controlplane.kafka.dialer import Connection
from controlplane.kafka.errors import KafkaUnavailable
from controlplane.kafka.groupmessages import ConsumerGroupDescribeRequest
from planner.consumers.seen import GroupSeen, GroupsSeen, MemberSeen
from planner.observed import TopicPartition

MOST_GROUPS = 500
"""Read at one look, by name."""
MOST_PARTITIONS = 20_000
"""Of all groups of one look together, at most."""

_ANSWER_S = 3.0
_BATCH = 100
"""Groups in one request."""
_TOPICS = 1_000
_LATEST = -1
"""ListOffsets: the high watermark, for a reader of uncommitted records."""
_CONSUMER = "consumer"


@dataclass(frozen=True, slots=True)
class _Listed:
    name: str
    kind: str
    coordinator: int


def read_groups(
    connection: Connection,
    names: Collection[str] | None,
    deadline: Deadline,
    now: Callable[[], datetime],
    *,
    most_groups: int = MOST_GROUPS,
    most_partitions: int = MOST_PARTITIONS,
) -> GroupsSeen:
    """These groups (None: all), by name. Raises KafkaUnavailable when no broker answered, or time was over."""
    at = now()
    live = connection.refresh_nodes(deadline)
    listed, silent = _list(connection, live, deadline)
    wanted = [g for g in listed if names is None or g.name in names]
    read, left_out = wanted[:most_groups], max(0, len(wanted) - most_groups)
    groups: dict[str, GroupSeen] = {}
    for batches in _rounds(read):
        described, unheard = _describe(connection, batches, deadline)
        committed, unheard_too = _committed(connection, batches, deadline)
        silent |= unheard | unheard_too
        # Members without offsets, or offsets without members, would be half of the truth.
        groups |= {n: replace(g, committed=committed[n]) for n, g in described.items() if n in committed}
    topics = {p.topic for g in groups.values() for p in g.committed}
    topics |= {t for g in groups.values() for t in g.topics}
    leaders = _leaders(connection, sorted(topics), deadline)
    partitions = _counted(leaders)
    kept, cut = _within(groups, partitions, most_partitions)
    wanted_ends = frozenset(p for g in kept for p in g.every_partition(partitions))
    ends = _ends(connection, leaders, wanted_ends, deadline)
    return GroupsSeen(at, kept, ends, partitions, tuple(sorted(silent)), left_out + cut)


def _list(connection: Connection, live: Iterable[int], deadline: Deadline) -> tuple[list[_Listed], set[int]]:
    request = ListGroupsRequest(states_filter=[], types_filter=[])
    answers = _ask_each(connection, dict.fromkeys(live, request), "listing groups", deadline)
    heard = {n: a for n, a in answers.items() if a.error_code == 0}
    if not heard:
        raise KafkaUnavailable(what="listing groups", where=connection.name, why="no broker answered")
    found = [
        _Listed(g.group_id, (g.group_type or "classic").lower(), node)
        for node, answer in heard.items()
        for g in answer.groups
        if _reads(g)
    ]
    return sorted(found, key=lambda g: g.name), set(live) - set(heard)


def _reads(listed: Any) -> bool:
    """Whether it is a group of consumers: Connect's workers, shares and streams are groups too. One without a protocol
    has offsets that somebody commits by hand."""
    return (listed.group_type or "classic").lower() in ("classic", _CONSUMER) and listed.protocol_type in (
        "",
        _CONSUMER,
    )


def _rounds(listed: Sequence[_Listed]) -> Iterable[dict[int, list[_Listed]]]:
    """Batches by broker: each round asks every broker once."""
    left: dict[int, list[_Listed]] = {}
    for group in listed:
        left.setdefault(group.coordinator, []).append(group)
    while left:
        yield {node: groups[:_BATCH] for node, groups in left.items()}
        left = {node: groups[_BATCH:] for node, groups in left.items() if groups[_BATCH:]}


def _describe(
    connection: Connection, batches: Mapping[int, list[_Listed]], deadline: Deadline
) -> tuple[dict[str, GroupSeen], set[int]]:
    what = "describing groups"
    old = {n: [g.name for g in batch if g.kind != _CONSUMER] for n, batch in batches.items()}
    new = {n: [g.name for g in batch if g.kind == _CONSUMER] for n, batch in batches.items()}
    classic = {
        n: DescribeGroupsRequest(groups=names, include_authorized_operations=False) for n, names in old.items() if names
    }
    modern = {
        n: ConsumerGroupDescribeRequest(group_ids=names, include_authorized_operations=False)
        for n, names in new.items()
        if names
    }
    found: dict[str, GroupSeen] = {}
    told = _ask_each(connection, classic, what, deadline)
    told_modern = _ask_each(connection, modern, what, deadline)
    for node, answer in told.items():
        for g in answer.groups:
            if g.error_code == 0 and g.group_state != "Dead":
                members = tuple(_classic_member(m) for m in g.members)
                found[g.group_id] = GroupSeen(g.group_id, g.group_state, "classic", node, members)
    for node, answer in told_modern.items():
        for g in answer.groups:
            if g.error_code == 0:
                members = tuple(_member(m) for m in g.members)
                found[g.group_id] = GroupSeen(g.group_id, g.group_state, _CONSUMER, node, members)
    return found, (set(classic) - set(told)) | (set(modern) - set(told_modern))


def _classic_member(member: Any) -> MemberSeen:
    """Its metadata and assignment are bytes in the consumers' own protocol, empty while the group rebalances."""
    topics = ConsumerProtocolSubscription.decode(member.member_metadata).topics if member.member_metadata else ()
    given = ConsumerProtocolAssignment.decode(member.member_assignment) if member.member_assignment else None
    partitions = tuple(TopicPartition(p.topic, p.partition) for p in given.partitions()) if given else ()
    return MemberSeen(member.member_id, member.client_id, member.client_host.lstrip("/"), tuple(topics), partitions)


def _member(member: Any) -> MemberSeen:
    partitions = tuple(
        TopicPartition(t.topic_name, n) for t in member.assignment.topic_partitions for n in t.partitions
    )
    topics = tuple(member.subscribed_topic_names)
    return MemberSeen(member.member_id, member.client_id, member.client_host.lstrip("/"), topics, partitions)


def _committed(
    connection: Connection, batches: Mapping[int, list[_Listed]], deadline: Deadline
) -> tuple[dict[str, dict[TopicPartition, int]], set[int]]:
    group = OffsetFetchRequest.OffsetFetchRequestGroup
    requests = {
        # Several groups at a time since v8; v10 speaks of topics by id (KIP-848).
        node: OffsetFetchRequest(
            groups=[group(group_id=g.name, topics=None) for g in batch], min_version=8, max_version=9
        )
        for node, batch in batches.items()
    }
    answers = _ask_each(connection, requests, "reading committed offsets", deadline)
    found = {
        g.group_id: {
            TopicPartition(t.name, p.partition_index): p.committed_offset
            for t in g.topics
            for p in t.partitions
            if p.error_code == 0 and p.committed_offset >= 0
        }
        for answer in answers.values()
        for g in answer.groups
        if g.error_code == 0
    }
    return found, set(requests) - set(answers)


def _leaders(connection: Connection, topics: Sequence[str], deadline: Deadline) -> dict[TopicPartition, int]:
    found: dict[TopicPartition, int] = {}
    for start in range(0, len(topics), _TOPICS):
        names = [MetadataRequest.MetadataRequestTopic(name=t) for t in topics[start : start + _TOPICS]]
        request = MetadataRequest(topics=names, allow_auto_topic_creation=False)
        answer = connection.ask(request, what="reading leaders", deadline=deadline)
        found |= {
            TopicPartition(t.name, p.partition_index): p.leader_id
            for t in answer.topics
            if t.error_code == 0
            for p in t.partitions
        }
    return found


def _counted(leaders: Iterable[TopicPartition]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for p in leaders:
        counts[p.topic] = counts.get(p.topic, 0) + 1
    return counts


def _within(
    groups: Mapping[str, GroupSeen], partitions: Mapping[str, int], most: int
) -> tuple[tuple[GroupSeen, ...], int]:
    """The groups, by name, that the bound has room for, and the number of the others."""
    kept: list[GroupSeen] = []
    left = most
    for _, group in sorted(groups.items()):
        size = len(group.every_partition(partitions))
        if size <= left:
            kept.append(group)
            left -= size
    return tuple(kept), len(groups) - len(kept)


def _ends(
    connection: Connection,
    leaders: Mapping[TopicPartition, int],
    wanted: Collection[TopicPartition],
    deadline: Deadline,
) -> dict[TopicPartition, int]:
    by_leader: dict[int, dict[str, list[int]]] = {}
    for p in sorted(wanted):
        if (leader := leaders.get(p, -1)) >= 0:
            by_leader.setdefault(leader, {}).setdefault(p.topic, []).append(p.partition)
    topic = ListOffsetsRequest.ListOffsetsTopic
    requests = {
        leader: ListOffsetsRequest(
            replica_id=-1,
            isolation_level=0,
            topics=[
                topic(
                    name=name,
                    partitions=[topic.ListOffsetsPartition(partition_index=n, timestamp=_LATEST) for n in numbers],
                )
                for name, numbers in topics.items()
            ],
            max_version=9,
        )
        for leader, topics in by_leader.items()
    }
    answers = _ask_each(connection, requests, "reading log ends", deadline)
    return {
        TopicPartition(t.name, p.partition_index): p.offset
        for answer in answers.values()
        for t in answer.topics
        for p in t.partitions
        if p.error_code == 0 and p.offset >= 0
    }


def _ask_each(connection: Connection, requests: Mapping[int, Any], what: str, deadline: Deadline) -> Mapping[int, Any]:
    """Raises KafkaUnavailable once the call's time is over: a look cut short would look like groups that are gone."""
    if not requests:
        return {}
    if deadline.is_over:
        why = "the call's time was over before all was read"
        raise KafkaUnavailable(what=what, where=connection.name, why=why)
    return connection.ask_each(requests, timeout_s=deadline.capped(_ANSWER_S))
