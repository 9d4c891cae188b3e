"""Where logs begin and end: only the leader of a partition tells, so leaders are looked up first."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from kafka.protocol.consumer import ListOffsetsRequest
from kafka.protocol.metadata import MetadataRequest

from controlplane.kafka.deadline import Deadline
from controlplane.kafka.dialer import Connection
from controlplane.kafka.errors import KafkaUnavailable
from planner.broker_answers import LogBounds, TopicLogs
from planner.observed import TopicPartition

MOST_PARTITIONS = 5_000
"""Of one topic at one look, the first by number."""
EARLIEST, LATEST = -2, -1
"""ListOffsets: the oldest record, and the high watermark for a reader of uncommitted records."""

_ANSWER_S = 3.0
_TOPICS = 1_000


def read_topic_logs(
    connection: Connection, topic: str, deadline: Deadline, now: Callable[[], datetime], *, most: int = MOST_PARTITIONS
) -> TopicLogs | None:
    """Where each log of a topic begins and ends; None for a topic that is not there. Raises KafkaUnavailable."""
    at = now()
    connection.refresh_nodes(deadline)
    leaders = leaders_of(connection, [topic], deadline)
    if not leaders:
        return None
    asked = frozenset(sorted(leaders)[:most])
    ends = log_offsets(connection, leaders, asked, LATEST, deadline)
    firsts = log_offsets(connection, leaders, asked, EARLIEST, deadline)
    bounds = {p.partition: LogBounds(firsts.get(p), ends.get(p)) for p in sorted(asked)}
    return TopicLogs(at, bounds, len(leaders) - len(asked))


def leaders_of(connection: Connection, topics: Sequence[str], deadline: Deadline) -> dict[TopicPartition, int]:
    """Every partition of these topics with its leader, -1 where it has none. A topic that is gone is missing."""
    return {
        TopicPartition(t.name, p.partition_index): p.leader_id
        for t in _described(connection, topics, "reading leaders", deadline)
        for p in t.partitions
    }


def topic_ids_of(connection: Connection, topics: Sequence[str], deadline: Deadline) -> dict[str, str]:
    """Kafka's own id of each topic that is there, which another topic of that name never gets."""
    return {t.name: str(t.topic_id) for t in _described(connection, topics, "reading ids of topics", deadline)}


def log_offsets(
    connection: Connection,
    leaders: Mapping[TopicPartition, int],
    wanted: Iterable[TopicPartition],
    which: int | Mapping[TopicPartition, int],
    deadline: Deadline,
    *,
    with_none: bool = False,
) -> dict[TopicPartition, int]:
    """That offset of each log; those whose leader did not answer are missing. `which` may be a time, in ms since 1970:
    the first record at or after it; where there is none -1, which is told `with_none` alone. Or one for each.
    """
    by_leader: dict[int, dict[str, list[int]]] = {}
    for p in sorted(wanted):
        if (leader := leaders.get(p, -1)) >= 0:
            by_leader.setdefault(leader, {}).setdefault(p.topic, []).append(p.partition)
    requests = {leader: _request(topics, which) for leader, topics in by_leader.items()}
    answers = ask_each(connection, requests, "reading log offsets", deadline)
    return {
        TopicPartition(t.name, p.partition_index): p.offset
        for answer in answers.values()
        for t in answer.topics
        for p in t.partitions
        if p.error_code == 0 and (with_none or p.offset >= 0)
    }


def ask_each(connection: Connection, requests: Mapping[int, Any], what: str, deadline: Deadline) -> Mapping[int, Any]:
    """Raises KafkaUnavailable once the call's time is over: a look cut short would look like things that are gone."""
    if not requests:
        return {}
    if deadline.is_over:
        why = "the call's time was over before all was read"
        raise KafkaUnavailable(what=what, where=connection.name, why=why)
    return connection.ask_each(requests, timeout_s=deadline.capped(_ANSWER_S))


def _described(connection: Connection, topics: Sequence[str], what: str, deadline: Deadline) -> Iterator[Any]:
    """What Metadata says of each of them that is there."""
    for start in range(0, len(topics), _TOPICS):
        names = [MetadataRequest.MetadataRequestTopic(name=t) for t in topics[start : start + _TOPICS]]
        request = MetadataRequest(topics=names, allow_auto_topic_creation=False)
        answer = connection.ask(request, what=what, deadline=deadline)
        yield from (t for t in answer.topics if t.error_code == 0)


def _request(topics: Mapping[str, Collection[int]], which: int | Mapping[TopicPartition, int]) -> Any:
    topic = ListOffsetsRequest.ListOffsetsTopic

    def wanted(name: str, number: int) -> int:
        return which if isinstance(which, int) else which[TopicPartition(name, number)]

    return ListOffsetsRequest(
        replica_id=-1,
        isolation_level=0,
        topics=[
            topic(
                name=name,
                partitions=[topic.ListOffsetsPartition(partition_index=n, timestamp=wanted(name, n)) for n in numbers],
            )
            for name, numbers in topics.items()
        ],
        max_version=9,
    )
