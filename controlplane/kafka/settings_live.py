"""The settings of running brokers: what each runs with and where it comes from, and whether it would take a new value.

Changing them is `controlplane.kafka.configs.apply_changes`; this is what comes before it and after it.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from kafka.protocol.admin import DescribeConfigsRequest, IncrementalAlterConfigsRequest

from controlplane.kafka.deadline import Deadline
from controlplane.kafka.dialer import Connection
from controlplane.kafka.errors import require_ok
from controlplane.kafka.throttle import CLUSTER_DEFAULT, ConfigChange
from planner.observed import SettingSeen
from planner.rollout.live_step import LiveStep

_BROKER, _SET, _DELETE = 4, 0, 1
_TYPES = ("unknown", "boolean", "string", "int", "short", "long", "double", "list", "class", "password")
"""By their number in DescribeConfigs (`ConfigResponse.ConfigType`)."""


class SettingSource(IntEnum):
    """Where a running value comes from, the strongest first (`DescribeConfigsResponse.ConfigSource`)."""

    BROKER_LIVE = 2
    CLUSTER_LIVE = 3
    FILE = 4
    KAFKA_DEFAULT = 5


@dataclass(frozen=True, slots=True)
class RunningSetting:
    """A setting as a broker runs with it. `value` is None where there is none, and for passwords."""

    name: str
    value: str | None
    source: SettingSource
    type: str
    is_read_only: bool
    is_sensitive: bool


def read_running(connection: Connection, broker: int, deadline: Deadline) -> dict[str, RunningSetting]:
    """Every setting a broker runs with, by name; only the broker itself tells.

    Whether a live value was taken is told by `value`, never by `source`: a broker that could not take a default says
    CLUSTER_LIVE and shows the old value. Raises KafkaUnavailable, KafkaRefused.
    """
    what = f"reading the settings of broker {broker}"
    resource = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=_BROKER, resource_name=str(broker), configuration_keys=None
    )
    answer = connection.ask(DescribeConfigsRequest(resources=[resource]), what=what, deadline=deadline, node=broker)
    found: dict[str, RunningSetting] = {}
    for result in answer.results:
        require_ok(result, what=what, where=connection.name)
        found |= {c.name: _running(c) for c in result.configs}
    return found


def read_some(
    connection: Connection, names: Collection[str], brokers: Iterable[int], *, timeout_s: float
) -> dict[int, dict[str, SettingSeen]]:
    """These settings as each of these brokers runs with them. Brokers that do not answer, and names a broker does not
    know, are missing. Raises KafkaRefused."""
    resource = DescribeConfigsRequest.DescribeConfigsResource
    requests = {
        broker: DescribeConfigsRequest(
            resources=[
                resource(resource_type=_BROKER, resource_name=str(broker), configuration_keys=sorted(names)),
            ]
        )
        for broker in brokers
    }
    found: dict[int, dict[str, SettingSeen]] = {}
    for broker, answer in sorted(connection.ask_each(requests, timeout_s=timeout_s).items()):
        for result in answer.results:
            require_ok(result, what=f"reading settings of broker {broker}", where=connection.name)
            found[broker] = {
                c.name: SettingSeen(c.value, c.config_source == SettingSource.BROKER_LIVE) for c in result.configs
            }
    return found


def step_refusals(
    connection: Connection, step: LiveStep, brokers: Iterable[int], *, timeout_s: float
) -> dict[int, str | None]:
    """What each of these brokers says to a step: the defaults, and its own values if it is to have some; None is a yes.

    Brokers that do not answer are missing. All have to say yes first: Kafka accepts a default once the one broker that
    is asked can take it. Another that cannot keeps its old values of *all* defaults, and refuses every later change of
    any of them by the name of the one it could not take (measured, `tests/kafka/test_live_settings.py`).
    """
    requests = {broker: _validate_step(step, broker) for broker in brokers}
    answers = connection.ask_each(requests, timeout_s=timeout_s)
    return {broker: refusal_words(answer) for broker, answer in sorted(answers.items())}


def step_changes(step: LiveStep) -> list[ConfigChange]:
    """A step as changes of single keys."""
    shared = [
        ConfigChange("broker", str(CLUSTER_DEFAULT), name, value) for name, value in sorted(step.defaults.items())
    ]
    own = [
        ConfigChange("broker", str(broker), name, value)
        for broker, values in sorted(step.own.items())
        for name, value in sorted(values.items())
    ]
    return shared + own


def validation(values: Mapping[str, str | None], broker: int | None) -> Any:
    return IncrementalAlterConfigsRequest(validate_only=True, resources=[_resource(values, broker)])


def _validate_step(step: LiveStep, broker: int) -> Any:
    own = step.own.get(broker)
    resources = [_resource(step.defaults, None)] if step.defaults else []
    # Nothing is asked of a broker that gets nothing, but it has to answer.
    resources += [_resource(own or {}, broker)] if own or not resources else []
    return IncrementalAlterConfigsRequest(validate_only=True, resources=resources)


def _resource(values: Mapping[str, str | None], broker: int | None) -> Any:
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    entries = [
        resource.AlterableConfig(name=name, config_operation=_DELETE if value is None else _SET, value=value)
        for name, value in sorted(values.items())
    ]
    name = "" if broker is None else str(broker)
    return resource(resource_type=_BROKER, resource_name=name, configs=entries)


def refusal_words(answer: Any) -> str | None:
    refused = [r for r in answer.responses if r.error_code != 0]
    return str(refused[0].error_message or f"error {refused[0].error_code}") if refused else None


def _running(config: Any) -> RunningSetting:
    return RunningSetting(
        name=config.name,
        value=config.value,
        source=SettingSource(config.config_source),
        type=_TYPES[config.config_type],
        is_read_only=config.read_only,
        is_sensitive=config.is_sensitive,
    )
