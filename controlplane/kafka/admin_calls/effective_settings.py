"""The settings of one topic or one broker as they count there, with where each comes from and what is behind it."""

from typing import Any

from kafka.protocol.admin import DescribeConfigsRequest

from controlplane.kafka.deadline import Deadline
from controlplane.kafka.dialer import Connection
from controlplane.kafka.errors import require_ok
from events.spec.topic_table import EXECUTOR_KEYS
from planner.broker_answers import ValueOrigin, ValueSeen

_TOPIC, _BROKER = 2, 4
_NO_TOPIC = (3, 17)
"""There is none of that name, and there never can be."""
_ORIGINS = {
    1: ValueOrigin.TOPIC,
    2: ValueOrigin.BROKER_LIVE,
    3: ValueOrigin.CLUSTER_LIVE,
    4: ValueOrigin.FILE,
    5: ValueOrigin.KAFKA_DEFAULT,
}
"""By their number in DescribeConfigs (`ConfigResponse.ConfigSource`)."""


def read_topic_values(connection: Connection, topic: str, deadline: Deadline) -> dict[str, ValueSeen] | None:
    """Every setting of a topic by name, but for those the executor sets; None for a topic that is not there.

    A value that is not the topic's own is that of the broker that answers. Raises KafkaUnavailable, KafkaRefused.
    """
    what = f"reading the settings of topic {topic}"
    (result,) = connection.ask(_request(_TOPIC, topic), what=what, deadline=deadline).results
    if result.error_code in _NO_TOPIC:
        return None
    require_ok(result, what=what, where=connection.name)
    return {c.name: _value(c) for c in result.configs if c.name not in EXECUTOR_KEYS}


def read_broker_values(connection: Connection, broker: int, deadline: Deadline) -> dict[str, ValueSeen]:
    """Every setting a broker runs with by name; only the broker itself tells. Raises as `read_topic_values`."""
    what = f"reading the settings of broker {broker}"
    connection.refresh_nodes(deadline)
    (result,) = connection.ask(_request(_BROKER, str(broker)), what=what, deadline=deadline, node=broker).results
    require_ok(result, what=what, where=connection.name)
    return {c.name: _value(c) for c in result.configs}


def _request(kind: int, name: str) -> Any:
    resource = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=None
    )
    return DescribeConfigsRequest(resources=[resource], include_synonyms=True)


def _value(config: Any) -> ValueSeen:
    """Synonyms are the value that counts and those behind it, the strongest first (KIP-226)."""
    origin = _ORIGINS.get(config.config_source, ValueOrigin.OTHER)
    behind = next((s for s in config.synonyms or () if s.source > config.config_source), None)
    return ValueSeen(
        config.value,
        origin,
        behind.value if behind else None,
        _ORIGINS.get(behind.source, ValueOrigin.OTHER) if behind else "",
        behind.name if behind else "",
        bool(config.is_sensitive),
    )
