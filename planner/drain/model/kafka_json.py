"""A plan as the JSON that Kafka's own kafka-reassign-partitions executes, and the one that takes it back.

Format: `ReassignPartitionsCommand.parsePartitionReassignmentData`, version 1. Kafka knows no sources, slots or
order inside a request: one document per checkpoint keeps the order at least between them.
"""

from collections.abc import Iterator
from typing import Any

from planner.drain.model.log_dirs import planned_paths
from planner.drain.model.plan import Schedule
from planner.drain.model.state import NO_BROKER, ClusterState, Int32s


def reassignments(state: ClusterState, schedule: Schedule) -> Iterator[dict[str, Any]]:
    """One document per checkpoint, in order: what is to be sent when the one before is complete."""
    yield from _documents(state, schedule, schedule.after, planned_paths(state, schedule.log_dirs, schedule.after))


def rollbacks(state: ClusterState, schedule: Schedule) -> Iterator[dict[str, Any]]:
    """One document per checkpoint, in the same order: the replicas of the state for those entries."""
    replicas = state.partitions.replicas[schedule.row]
    yield from _documents(state, schedule, replicas, planned_paths(state, None, replicas))


def _documents(
    state: ClusterState, schedule: Schedule, replicas: Int32s, log_dirs: list[list[str]]
) -> Iterator[dict[str, Any]]:
    parts, ids = state.partitions, state.brokers.id.tolist()
    before = 0
    for end in schedule.checkpoints:
        rows, lists = schedule.row[before:end].tolist(), replicas[before:end].tolist()
        entries = []
        for row, brokers, paths in zip(rows, lists, log_dirs[before:end], strict=True):
            held = [ids[b] for b in brokers if b != NO_BROKER]
            entry = {
                "topic": parts.topics[int(parts.topic[row])],
                "partition": int(parts.partition[row]),
                "replicas": held,
                "log_dirs": paths,
            }
            entries.append(entry)
        before = end
        yield {"version": 1, "partitions": entries}
