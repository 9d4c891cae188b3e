"""Dynamic configs: effective values of topics, throttles as they are set, cluster-wide defaults, and changes
to them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kafka.protocol.admin import DescribeConfigsRequest, IncrementalAlterConfigsRequest

from controlplane.kafka import dialer, errors, throttle
from controlplane.kafka.deadline import Deadline

_TOPIC, _BROKER = 2, 4
_SET, _DELETE = 0, 1
_FROM_BROKER, _FROM_CLUSTER_DEFAULT = 2, 3
"""DescribeConfigs sources: the broker's own dynamic value, the cluster-wide dynamic default."""
_UNKNOWN_TOPIC = 3
_BATCH = 500
_ANSWER_S = 3.0


@dataclass(frozen=True, slots=True)
class TopicConfig:
    """The effective values of a topic that matter to us."""

    min_isr: int
    leader_throttle: throttle.ReplicaList
    follower_throttle: throttle.ReplicaList

    @property
    def is_throttled(self) -> bool:
        return bool(self.leader_throttle or self.follower_throttle)


def read_topic_configs(
    connection: dialer.Connection, node: int | None, topics: Sequence[str], deadline: Deadline
) -> dict[str, TopicConfig]:
    """By topic; a topic that is gone meanwhile is missing."""
    found = {}
    for some in _batches(topics):
        request = _describe(_TOPIC, some, ("min.insync.replicas", throttle.LEADER_REPLICAS, throttle.FOLLOWER_REPLICAS))
        answer = connection.ask(request, what="reading topic configs", deadline=deadline, node=node)
        for result in answer.results:
            if result.error_code == _UNKNOWN_TOPIC:
                continue
            errors.require_ok(result, what="reading topic configs", where=connection.name)
            values = {c.name: c.value or "" for c in result.configs}
            found[result.resource_name] = TopicConfig(
                min_isr=int(values["min.insync.replicas"]),
                leader_throttle=_replicas(values.get(throttle.LEADER_REPLICAS, "")),
                follower_throttle=_replicas(values.get(throttle.FOLLOWER_REPLICAS, "")),
            )
    return found


@dataclass(frozen=True, slots=True)
class AppliedBrokerConfigs:
    """Keys the executor sets, as they are set now, and the brokers that answered: only a broker itself tells (and
    takes) its own values."""

    throttles: throttle.ThrottlePlan
    cordoned: frozenset[int]
    brokers: frozenset[int]
    log_dirs_rate: Mapping[int, int]


def read_applied(
    connection: dialer.Connection, live: frozenset[int], topics: Mapping[str, TopicConfig], deadline: Deadline
) -> AppliedBrokerConfigs:
    """What is set now; a broker leaves out a key it does not know. Raises KafkaUnavailable when none answers."""
    keys = (throttle.LEADER_RATE, throttle.FOLLOWER_RATE, throttle.LOG_DIRS_RATE, throttle.CORDON)
    requests = {n: _describe(_BROKER, ["", str(n)], keys) for n in live}
    answers = connection.ask_each(requests, timeout_s=deadline.capped(_ANSWER_S))
    if not answers:
        raise errors.KafkaUnavailable(what="reading throttles", where=connection.name, why="no live broker answered")
    rates: dict[str, dict[int, int]] = {key: {} for key in keys[:3]}
    cordoned: set[int] = set()
    for broker, answer in sorted(answers.items()):
        for result in answer.results:
            errors.require_ok(result, what="reading throttles", where=f"{connection.name}, broker {broker}")
            whose, source = (
                (broker, _FROM_BROKER) if result.resource_name else (throttle.CLUSTER_DEFAULT, _FROM_CLUSTER_DEFAULT)
            )
            for c in result.configs:
                if c.name == throttle.CORDON:
                    cordoned |= {broker} if c.config_source == _FROM_BROKER and c.value == throttle.EVERY_DIR else set()
                elif c.config_source == source and c.value is not None:
                    rates[c.name][whose] = int(c.value)
    lists = {t: (c.leader_throttle, c.follower_throttle) for t, c in topics.items() if c.is_throttled}
    throttles = throttle.ThrottlePlan(rates[throttle.LEADER_RATE], rates[throttle.FOLLOWER_RATE], lists)
    return AppliedBrokerConfigs(throttles, frozenset(cordoned), frozenset(answers), rates[throttle.LOG_DIRS_RATE])


def read_cluster_defaults(connection: dialer.Connection, deadline: Deadline) -> dict[str, str]:
    """The cluster-wide dynamic broker defaults that are set."""
    what = "reading cluster configs"
    answer = connection.ask(_describe(_BROKER, [""], None), what=what, deadline=deadline)
    for result in answer.results:
        errors.require_ok(result, what=what, where=connection.name)
    return {
        c.name: c.value
        for result in answer.results
        for c in result.configs
        if c.config_source == _FROM_CLUSTER_DEFAULT and c.value is not None and not c.is_sensitive
    }


def apply_changes(connection: dialer.Connection, changes: Sequence[throttle.ConfigChange], deadline: Deadline) -> None:
    """Apply by incremental alter. A broker's own keys go to that broker, which alone takes them; topics that
    are gone are passed over. Raises KafkaUnavailable when a broker did not answer, KafkaRefused with Kafka's
    words."""
    own: dict[int, list[throttle.ConfigChange]] = {}
    shared: list[throttle.ConfigChange] = []
    for change in changes:
        if change.kind == "broker" and change.name != str(throttle.CLUSTER_DEFAULT):
            own.setdefault(int(change.name), []).append(change)
        else:
            shared.append(change)
    for some in _batches(shared):
        answer = connection.ask(_alter(some), what="changing configs", deadline=deadline)
        _check_alter(answer, connection.name)
    answers = connection.ask_each({n: _alter(c) for n, c in own.items()}, timeout_s=deadline.capped(_ANSWER_S))
    for broker, answer in sorted(answers.items()):
        _check_alter(answer, f"{connection.name}, broker {broker}")
    silent = sorted(set(own) - set(answers))
    if silent:
        raise errors.KafkaUnavailable(
            what="changing configs",
            where=connection.name,
            why=f"broker {', '.join(map(str, silent))} did not answer",
        )


def _describe(kind: int, names: Iterable[str], keys: Sequence[str] | None) -> Any:
    resource = DescribeConfigsRequest.DescribeConfigsResource
    return DescribeConfigsRequest(
        resources=[
            resource(resource_type=kind, resource_name=n, configuration_keys=None if keys is None else list(keys))
            for n in names
        ]
    )


def _alter(changes: Sequence[throttle.ConfigChange]) -> Any:
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    by_resource: dict[tuple[int, str], list[Any]] = {}
    for c in changes:
        name = "" if c.kind == "broker" and c.name == str(throttle.CLUSTER_DEFAULT) else c.name
        operation = _DELETE if c.value is None else _SET
        entry = resource.AlterableConfig(name=c.key, config_operation=operation, value=c.value)
        by_resource.setdefault((_TOPIC if c.kind == "topic" else _BROKER, name), []).append(entry)
    return IncrementalAlterConfigsRequest(
        validate_only=False,
        resources=[resource(resource_type=k, resource_name=n, configs=c) for (k, n), c in by_resource.items()],
    )


def _check_alter(answer: Any, where: str) -> None:
    for r in answer.responses:
        if r.resource_type == _TOPIC and r.error_code == _UNKNOWN_TOPIC:
            continue
        name = f"{'topic' if r.resource_type == _TOPIC else 'broker'} {r.resource_name or 'defaults'}"
        errors.require_ok(r, what=f"changing configs of {name}", where=where)


def _replicas(text: str) -> throttle.ReplicaList:
    return tuple(r.strip() for r in text.split(",") if r.strip())


def _batches(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), _BATCH):
        yield items[start : start + _BATCH]
