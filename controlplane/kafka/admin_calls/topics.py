"""Topics: what is set on them, where their logs are, and changes of them, asked first and then made.

Kafka judges creations, growth and values without making them (`validate_only`). Answers that only say "it is so
already" are no refusals: a broker's metadata may lag behind what was done a moment ago.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any

from kafka.protocol.admin import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
)

from controlplane.kafka.admin_calls.calls import AdminCalls
from controlplane.kafka.admin_calls.effective_settings import read_topic_values
from controlplane.kafka.deadline import Deadline
from controlplane.kafka.dialer import Connection
from controlplane.kafka.errors import refusal_words, require_ok
from controlplane.kafka.offsets import read_topic_logs
from events.spec.topic_table import EXECUTOR_KEYS
from planner.broker_answers import TopicLogs, ValueSeen
from planner.topics.step import Growth, NewTopic, Replicas, TopicStep

_TOPIC, _SET, _DELETE = 2, 0, 1
_FROM_TOPIC = 1
"""DescribeConfigs source: the topic's own value (`ConfigSource.DYNAMIC_TOPIC_CONFIG`)."""
_UNKNOWN_TOPIC, _EXISTS, _INVALID_PARTITIONS = 3, 36, 37
_BATCH = 500


class TopicAdminCalls(AdminCalls):
    """See `TopicGateway`."""

    def topic_configs(self, topics: Collection[str]) -> Mapping[str, Mapping[str, str]]:
        with self._call() as (connection, deadline):
            return _own_configs(connection, topics, deadline)

    def topic_values(self, topic: str) -> Mapping[str, ValueSeen] | None:
        with self._call() as (connection, deadline):
            return read_topic_values(connection, topic, deadline)

    def topic_logs(self, topic: str) -> TopicLogs | None:
        with self._call() as (connection, deadline):
            return read_topic_logs(connection, topic, deadline, self._now)

    def topic_refusals(self, step: TopicStep) -> Mapping[str, str]:
        with self._call() as (connection, deadline):
            found = partial(self._controller, connection, deadline)
            return _ask(connection, step, deadline, validate_only=True, controller=found)

    def change_topics(self, step: TopicStep) -> Mapping[str, str]:
        with self._call() as (connection, deadline):
            found = partial(self._controller, connection, deadline)
            return _ask(connection, step, deadline, validate_only=False, controller=found)


def _own_configs(connection: Connection, topics: Collection[str], deadline: Deadline) -> dict[str, dict[str, str]]:
    """By topic, what is set on the topic itself, but for the keys the executor sets. A topic that is gone is missing.

    Raises KafkaUnavailable, KafkaRefused.
    """
    what, names, found = "reading topic configs", sorted(topics), {}
    resource = DescribeConfigsRequest.DescribeConfigsResource
    for start in range(0, len(names), _BATCH):
        resources = [
            resource(resource_type=_TOPIC, resource_name=n, configuration_keys=None)
            for n in names[start : start + _BATCH]
        ]
        answer = connection.ask(DescribeConfigsRequest(resources=resources), what=what, deadline=deadline)
        for result in answer.results:
            if result.error_code == _UNKNOWN_TOPIC:
                continue
            require_ok(result, what=what, where=connection.name)
            found[result.resource_name] = {
                c.name: c.value or ""
                for c in result.configs
                if c.config_source == _FROM_TOPIC and c.name not in EXECUTOR_KEYS
            }
    return found


def _ask(
    connection: Connection,
    step: TopicStep,
    deadline: Deadline,
    *,
    validate_only: bool,
    controller: Callable[[], int | None],
) -> dict[str, str]:
    """Makes a step, or only asks whether it would be taken. Returns what was refused, in Kafka's words, by topic.

    `controller` finds whom to send what only a controller takes, None for any broker: one in ZooKeeper mode passes
    nothing on, it answers NOT_CONTROLLER. Settings are taken by each. Deletions cannot be asked about. Raises
    KafkaUnavailable.
    """
    refused: dict[str, str] = {}
    node = controller() if step.create or step.grow or step.delete else None
    timeout_ms = int(deadline.left_s * 1000)
    if step.create:
        request = CreateTopicsRequest(
            topics=[_new(name, topic) for name, topic in sorted(step.create.items())],
            timeout_ms=timeout_ms,
            validate_only=validate_only,
            min_version=1,  # validate_only exists since v1; an older broker would make the topic
        )
        answer = connection.ask(request, what="making topics", deadline=deadline, node=node)
        refused |= _refusals(answer.topics, harmless=_EXISTS)
    if step.grow:
        growth = [_growth(name, growth) for name, growth in sorted(step.grow.items())]
        request = CreatePartitionsRequest(topics=growth, timeout_ms=timeout_ms, validate_only=validate_only)
        answer = connection.ask(request, what="adding partitions", deadline=deadline, node=node)
        refused |= _refusals(answer.results, harmless=_INVALID_PARTITIONS)
    if step.configure:
        resources = [_values(name, values) for name, values in sorted(step.configure.items())]
        request = IncrementalAlterConfigsRequest(validate_only=validate_only, resources=resources)
        answer = connection.ask(request, what="changing topic configs", deadline=deadline)
        refused |= {r.resource_name: _words(r) for r in answer.responses if r.error_code not in (0, _UNKNOWN_TOPIC)}
    if step.delete and not validate_only:
        states = [DeleteTopicsRequest.DeleteTopicState(name=name) for name in step.delete]
        request = DeleteTopicsRequest(topics=states, timeout_ms=timeout_ms, min_version=6)
        answer = connection.ask(request, what="deleting topics", deadline=deadline, node=node)
        refused |= _refusals(answer.responses, harmless=_UNKNOWN_TOPIC)
    return refused


def _new(name: str, topic: NewTopic) -> Any:
    shape = CreateTopicsRequest.CreatableTopic
    return shape(
        name=name,
        num_partitions=-1,
        replication_factor=-1,
        assignments=[
            shape.CreatableReplicaAssignment(partition_index=n, broker_ids=list(replicas))
            for n, replicas in enumerate(topic.partitions)
        ],
        configs=[shape.CreatableTopicConfig(name=k, value=v) for k, v in sorted(topic.config.items())],
    )


def _growth(name: str, growth: Growth) -> Any:
    shape = CreatePartitionsRequest.CreatePartitionsTopic
    return shape(name=name, count=growth.total, assignments=[_assigned(shape, r) for r in growth.added])


def _assigned(shape: Any, replicas: Replicas) -> Any:
    return shape.CreatePartitionsAssignment(broker_ids=list(replicas))


def _values(name: str, values: Mapping[str, str | None]) -> Any:
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    entries = [
        resource.AlterableConfig(name=k, config_operation=_DELETE if v is None else _SET, value=v)
        for k, v in sorted(values.items())
    ]
    return resource(resource_type=_TOPIC, resource_name=name, configs=entries)


def _refusals(results: Iterable[Any], *, harmless: int) -> dict[str, str]:
    return {r.name: _words(r) for r in results if r.error_code not in (0, harmless)}


def _words(result: Any) -> str:
    return refusal_words(result.error_code, getattr(result, "error_message", None))
