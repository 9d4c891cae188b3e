"""Consumer groups: who is in them, what a reset of their offsets rests on, and offsets of one without members."""

from collections.abc import Callable, Collection, Mapping
from datetime import datetime

from kafka.errors import for_code
from kafka.protocol.consumer import OffsetCommitRequest

from controlplane.kafka.admin_calls.calls import AdminCalls
from controlplane.kafka.deadline import Deadline
from controlplane.kafka.dialer import Connection
from controlplane.kafka.errors import KafkaUnavailable
from controlplane.kafka.groups import read_groups
from controlplane.kafka.offsets import EARLIEST, LATEST, leaders_of, log_offsets
from planner.consumers.reset import LogSpan, OffsetSeen
from planner.consumers.seen import GroupsSeen
from planner.observed import TopicPartition

_NOT_NOW = frozenset({14, 15, 16})
"""The coordinator is loading, away, or another one by now."""


class GroupCalls(AdminCalls):
    """See `GroupGateway`."""

    def groups(self, names: Collection[str] | None = None) -> GroupsSeen:
        with self._call() as (connection, deadline):
            return read_groups(connection, names, deadline, self._now)

    def group_offsets(self, group: str, topics: Collection[str], at: datetime | None) -> OffsetSeen | None:
        with self._call() as (connection, deadline):
            return _group_offsets(connection, group, topics, at, deadline, self._now)

    def commit_offsets(self, group: str, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, str]:
        with self._call() as (connection, deadline):
            return _commit(connection, group, offsets, deadline, self._now)


def _group_offsets(
    connection: Connection,
    group: str,
    topics: Collection[str],
    at: datetime | None,
    deadline: Deadline,
    now: Callable[[], datetime],
) -> OffsetSeen | None:
    """The group, and the logs of what it committed and of these topics; None where no broker knows the group.

    With `at` also each log's first record at or after it. Raises KafkaUnavailable.
    """
    seen = read_groups(connection, [group], deadline, now)
    if not seen.groups:
        if seen.silent:
            silent = ", ".join(map(str, seen.silent))
            why = f"brokers {silent} did not answer, and one of them may coordinate it"
            raise KafkaUnavailable(what=f"reading the group {group}", where=connection.name, why=why)
        return None
    (found,) = seen.groups
    leaders = leaders_of(connection, sorted({p.topic for p in found.committed} | set(topics)), deadline)
    wanted = frozenset(p for p in leaders if p in found.committed or p.topic in topics)
    firsts = log_offsets(connection, leaders, wanted, EARLIEST, deadline)
    ends = log_offsets(connection, leaders, wanted, LATEST, deadline)
    spans = {p: LogSpan(firsts.get(p), ends.get(p)) for p in wanted}
    if at is None:
        return OffsetSeen(found, spans)
    millis = max(0, int(at.timestamp() * 1000))  # negative ones mean something else to ListOffsets
    by_time = log_offsets(connection, leaders, wanted, millis, deadline, with_none=True)
    return OffsetSeen(found, {p: _timed(span, by_time.get(p)) for p, span in spans.items()})


def _commit(
    connection: Connection,
    group: str,
    offsets: Mapping[TopicPartition, int],
    deadline: Deadline,
    now: Callable[[], datetime],
) -> Mapping[TopicPartition, str]:
    """Commits them in the group's name, as somebody who is no member. Returns what was refused, in Kafka's words.

    Kafka itself takes this for a group without members alone (UnknownMemberIdError), so nobody who joins meanwhile is
    overtaken. Raises KafkaUnavailable: it may or may not have been taken, and can be repeated.
    """
    connection.refresh_nodes(deadline)
    what = f"committing offsets of {group}"
    seen = read_groups(connection, [group], deadline, now)
    if not seen.groups:
        raise KafkaUnavailable(what=what, where=connection.name, why="no broker says that it coordinates it")
    return commit_at(connection, group, offsets, seen.groups[0].coordinator, deadline)


def commit_at(
    connection: Connection, group: str, offsets: Mapping[TopicPartition, int], coordinator: int, deadline: Deadline
) -> Mapping[TopicPartition, str]:
    """The same by a broker that is known to coordinate the group, which need not exist: it does from then on."""
    what = f"committing offsets of {group}"
    topic = OffsetCommitRequest.OffsetCommitRequestTopic
    by_topic: dict[str, list[TopicPartition]] = {}
    for name in sorted(offsets):
        by_topic.setdefault(name.topic, []).append(name)
    request = OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=-1,
        member_id="",
        group_instance_id=None,
        topics=[
            topic(
                name=t,
                partitions=[
                    topic.OffsetCommitRequestPartition(
                        partition_index=p.partition,
                        committed_offset=offsets[p],
                        committed_leader_epoch=-1,
                        committed_metadata="",
                    )
                    for p in names
                ],
            )
            for t, names in by_topic.items()
        ],
        min_version=6,  # older ones could ask for another retention than the broker's
        max_version=9,  # v10 speaks of topics by id (KIP-848)
    )
    answer = connection.ask(request, what=what, deadline=deadline, node=coordinator)
    told = {TopicPartition(t.name, p.partition_index): p.error_code for t in answer.topics for p in t.partitions}
    if any(code in _NOT_NOW for code in told.values()):
        raise KafkaUnavailable(what=what, where=connection.name, why=f"broker {coordinator} coordinates it not now")
    return {p: f"{for_code(code).description} ({for_code(code).__name__})" for p, code in told.items() if code}


def _timed(span: LogSpan, found: int | None) -> LogSpan:
    """An answer of -1 says that no record is so young; no answer at all, that the leader did not tell."""
    if found is None:
        return LogSpan(None, None)
    return LogSpan(span.first, span.end, found if found >= 0 else span.end)
