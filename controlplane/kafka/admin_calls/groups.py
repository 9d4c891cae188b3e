"""Consumer groups and their offsets."""

from collections.abc import Collection, Mapping
from datetime import datetime

from controlplane.kafka.admin_calls.calls import AdminCalls
from controlplane.kafka.group_offsets import commit_offsets, read_group_offsets
from controlplane.kafka.groups import read_groups
from planner.consumers.reset import OffsetSeen
from planner.consumers.seen import GroupsSeen
from planner.observed import TopicPartition


class GroupCalls(AdminCalls):
    """See `GroupGateway`."""

    def groups(self, names: Collection[str] | None = None) -> GroupsSeen:
        with self._call() as (connection, deadline):
            return read_groups(connection, names, deadline, self._now)

    def group_offsets(self, group: str, topics: Collection[str], at: datetime | None) -> OffsetSeen | None:
        with self._call() as (connection, deadline):
            return read_group_offsets(connection, group, topics, at, deadline, self._now)

    def commit_offsets(self, group: str, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, str]:
        with self._call() as (connection, deadline):
            return commit_offsets(connection, group, offsets, deadline, self._now)
