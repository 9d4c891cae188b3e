"""Topics: what is set on them, where their logs are, and changes of them."""

from collections.abc import Collection, Mapping
from functools import partial

from controlplane.kafka.admin_calls.calls import AdminCalls
from controlplane.kafka.effective_settings import read_topic_values
from controlplane.kafka.offsets import read_topic_logs
from controlplane.kafka.topics import ask_topics, read_own_configs
from planner.broker_answers import TopicLogs, ValueSeen
from planner.topics.step import TopicStep


class TopicAdminCalls(AdminCalls):
    """See `TopicGateway`."""

    def topic_configs(self, topics: Collection[str]) -> Mapping[str, Mapping[str, str]]:
        with self._call() as (connection, deadline):
            return read_own_configs(connection, topics, deadline)

    def topic_values(self, topic: str) -> Mapping[str, ValueSeen] | None:
        with self._call() as (connection, deadline):
            return read_topic_values(connection, topic, deadline)

    def topic_logs(self, topic: str) -> TopicLogs | None:
        with self._call() as (connection, deadline):
            return read_topic_logs(connection, topic, deadline, self._now)

    def topic_refusals(self, step: TopicStep) -> Mapping[str, str]:
        with self._call() as (connection, deadline):
            found = partial(self._controller, connection, deadline)
            return ask_topics(connection, step, deadline, validate_only=True, controller=found)

    def change_topics(self, step: TopicStep) -> Mapping[str, str]:
        with self._call() as (connection, deadline):
            found = partial(self._controller, connection, deadline)
            return ask_topics(connection, step, deadline, validate_only=False, controller=found)
