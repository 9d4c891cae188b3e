"""Replicas that move, and who leads."""

from collections.abc import Iterable, Mapping
from typing import Any

from kafka.protocol.admin import (
    AlterPartitionReassignmentsRequest,
    ElectLeadersRequest,
)

from controlplane.kafka.admin_calls.calls import AdminCalls
from controlplane.kafka.errors import refusal_words
from controlplane.kafka.log_dir_requests import Wishes, prefer_log_dirs
from planner.observed import TopicPartition

_NO_REASSIGNMENT = 85
_ELECTION_NOT_NEEDED = 84
_NO_PREFERRED_LEADER = 80
_UNKNOWN_TOPIC = 3
_PREFERRED = 0


class ReassignmentCalls(AdminCalls):
    """See `ReassignmentGateway`."""

    def reassign(self, targets: Mapping[TopicPartition, tuple[int, ...]]) -> Mapping[TopicPartition, str]:
        return self._alter_reassignments({p: list(r) for p, r in targets.items()}, "reassigning partitions")

    def prefer_log_dirs(self, wishes: Wishes) -> None:
        with self._call() as (connection, deadline):
            prefer_log_dirs(connection, wishes, deadline)

    def cancel(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, str]:
        return self._alter_reassignments(dict.fromkeys(partitions), "cancelling reassignments", _NO_REASSIGNMENT)

    def elect_preferred(self, partitions: Iterable[TopicPartition] | None) -> int:
        what = "electing preferred leaders"
        with self._call() as (connection, deadline):
            request = ElectLeadersRequest(
                election_type=_PREFERRED,
                topic_partitions=None if partitions is None else _election_topics(partitions),
                timeout_ms=int(deadline.left_s * 1000),
            )
            node = self._controller(connection, deadline)
            answer = connection.ask(request, what=what, deadline=deadline, node=node)
            self._check(answer, what)
            elected = 0
            for result in answer.replica_election_results:
                for p in result.partition_result:
                    if p.error_code in (_ELECTION_NOT_NEEDED, _NO_PREFERRED_LEADER, _UNKNOWN_TOPIC):
                        continue
                    self._check(p, f"{what} of {result.topic}-{p.partition_id}")
                    elected += 1
            return elected

    def _alter_reassignments(
        self, targets: Mapping[TopicPartition, list[int] | None], what: str, harmless: int | None = None
    ) -> Mapping[TopicPartition, str]:
        if not targets:
            return {}
        with self._call() as (connection, deadline):
            request = AlterPartitionReassignmentsRequest(
                timeout_ms=int(deadline.left_s * 1000), topics=_reassignment_topics(targets)
            )
            node = self._controller(connection, deadline)
            answer = connection.ask(request, what=what, deadline=deadline, node=node)
            self._check(answer, what)
            results = {TopicPartition(t.name, p.partition_index): p for t in answer.responses for p in t.partitions}
            refused = {p: "Kafka did not answer for this partition" for p in targets if p not in results}
            for name, p in results.items():
                if p.error_code not in (0, harmless):
                    refused[name] = refusal_words(p.error_code, p.error_message)
            return refused


def _reassignment_topics(targets: Mapping[TopicPartition, list[int] | None]) -> list[Any]:
    """Replicas None cancels (KIP-455)."""
    topic = AlterPartitionReassignmentsRequest.ReassignableTopic
    by_topic: dict[str, list[Any]] = {}
    for p, replicas in sorted(targets.items()):
        by_topic.setdefault(p.topic, []).append(
            topic.ReassignablePartition(partition_index=p.partition, replicas=replicas)
        )
    return [topic(name=t, partitions=p) for t, p in by_topic.items()]


def _election_topics(partitions: Iterable[TopicPartition]) -> list[Any]:
    by_topic: dict[str, list[int]] = {}
    for p in sorted(partitions):
        by_topic.setdefault(p.topic, []).append(p.partition)
    return [ElectLeadersRequest.TopicPartitions(topic=t, partitions=p) for t, p in by_topic.items()]
