"""Reads consumer groups over a Connection: who is a member, what was committed, where the logs end.

A broker lists and describes the groups it coordinates, so all brokers are asked and none for another's. Bounded in
groups and partitions; a broker that does not answer is told of, never guessed for.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from kafka.protocol.admin import DescribeGroupsRequest, ListGroupsRequest
from kafka.protocol.consumer import OffsetFetchRequest
from kafka.protocol.metadata import FindCoordinatorRequest

from controlplane.kafka import dialer, errors, group_members, group_messages, offsets
from controlplane.kafka.deadline import Deadline
from planner.consumers.seen import GroupSeen, GroupsSeen
from planner.observed import TopicPartition

MOST_GROUPS = 500
"""Read at one look, by name."""
MOST_PARTITIONS = 20_000
"""Of all groups of one look together, at most."""

_BATCH = 100
"""Groups in one request."""
_CONSUMER = "consumer"


@dataclass(frozen=True, slots=True)
class _Listed:
    name: str
    kind: str
    coordinator: int


def read_groups(
    connection: dialer.Connection,
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
    unread = tuple(g.name for g in read if g.name not in groups)
    topics = {p.topic for g in groups.values() for p in g.committed}
    topics |= {t for g in groups.values() for t in g.topics}
    leaders = offsets.leaders_of(connection, sorted(topics), deadline)
    partitions = _counted(leaders)
    kept, cut = _within(groups, partitions, most_partitions)
    wanted_ends = frozenset(p for g in kept for p in g.every_partition(partitions))
    ends = offsets.log_offsets(connection, leaders, wanted_ends, offsets.LATEST, deadline)
    return GroupsSeen(at, kept, ends, partitions, tuple(sorted(silent)), left_out + cut, unread)


def find_coordinator(connection: dialer.Connection, group: str, deadline: Deadline) -> int:
    """The broker that keeps this group's offsets, of one that nobody knows yet too. Raises KafkaUnavailable."""
    what = f"looking for who coordinates {group}"
    request = FindCoordinatorRequest(key=group, key_type=0, coordinator_keys=[group], min_version=4)
    answer = connection.ask(request, what=what, deadline=deadline)
    for found in answer.coordinators:
        errors.require_ok(found, what=what, where=connection.name)
        return int(found.node_id)
    raise errors.KafkaUnavailable(what=what, where=connection.name, why="no broker says that it does")


def _list(connection: dialer.Connection, live: Iterable[int], deadline: Deadline) -> tuple[list[_Listed], set[int]]:
    request = ListGroupsRequest(states_filter=[], types_filter=[])
    answers = offsets.ask_each(connection, dict.fromkeys(live, request), "listing groups", deadline)
    heard = {n: a for n, a in answers.items() if a.error_code == 0}
    if not heard:
        raise errors.KafkaUnavailable(what="listing groups", where=connection.name, why="no broker answered")
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
    connection: dialer.Connection, batches: Mapping[int, list[_Listed]], deadline: Deadline
) -> tuple[dict[str, GroupSeen], set[int]]:
    what = "describing groups"
    old = {n: [g.name for g in batch if g.kind != _CONSUMER] for n, batch in batches.items()}
    new = {n: [g.name for g in batch if g.kind == _CONSUMER] for n, batch in batches.items()}
    classic = {
        n: DescribeGroupsRequest(groups=names, include_authorized_operations=False) for n, names in old.items() if names
    }
    modern = {
        n: group_messages.ConsumerGroupDescribeRequest(group_ids=names, include_authorized_operations=False)
        for n, names in new.items()
        if names
    }
    found: dict[str, GroupSeen] = {}
    offsets_by_group = offsets.ask_each(connection, classic, what, deadline)
    told_modern = offsets.ask_each(connection, modern, what, deadline)
    for node, answer in offsets_by_group.items():
        for g in answer.groups:
            if g.error_code == 0 and g.group_state != "Dead":
                members = tuple(group_members.classic_member(m) for m in g.members)
                found[g.group_id] = GroupSeen(g.group_id, g.group_state, "classic", node, members)
    for node, answer in told_modern.items():
        for g in answer.groups:
            if g.error_code == 0:
                members = tuple(group_members.modern_member(m) for m in g.members)
                found[g.group_id] = GroupSeen(g.group_id, g.group_state, _CONSUMER, node, members)
    return found, (set(classic) - set(offsets_by_group)) | (set(modern) - set(told_modern))


def _committed(
    connection: dialer.Connection, batches: Mapping[int, list[_Listed]], deadline: Deadline
) -> tuple[dict[str, dict[TopicPartition, int]], set[int]]:
    group = OffsetFetchRequest.OffsetFetchRequestGroup
    requests = {
        # Several groups at a time since v8; v10 speaks of topics by id (KIP-848).
        node: OffsetFetchRequest(
            groups=[group(group_id=g.name, topics=None) for g in batch], min_version=8, max_version=9
        )
        for node, batch in batches.items()
    }
    answers = offsets.ask_each(connection, requests, "reading committed offsets", deadline)
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
