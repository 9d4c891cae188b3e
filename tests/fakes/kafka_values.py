"""Settings of the fake's topics and brokers with where each comes from, as DescribeConfigs tells."""

from collections.abc import Collection, Iterable

from events.spec.setting_table import settings_of
from events.spec.topic_table import EXECUTOR_KEYS, topic_keys_of
from planner.broker_answers import ValueOrigin, ValueSeen
from tests.fakes.kafka_parts import FakeBroker
from tests.fakes.kafka_settings import FakeSettings
from tests.fakes.kafka_topics import FakeTopics

_Layer = tuple[ValueOrigin, str | None]


def topic_values(
    topics: FakeTopics, settings: FakeSettings, serving: Collection[FakeBroker], topic: str
) -> dict[str, ValueSeen] | None:
    """What the first serving broker tells of a topic; None for one that is not there."""
    if not topics.count(topic):
        return None
    broker = min(serving, key=lambda b: b.id)
    own = topics.own.get(topic, {})
    return {
        name: _strongest(
            name, [(ValueOrigin.TOPIC, own.get(name)), *_of_broker(settings, broker, name), (_LAST, key.default)]
        )
        for name, key in topic_keys_of(broker.version).items()
        if name not in EXECUTOR_KEYS
    }


def broker_values(settings: FakeSettings, broker: FakeBroker) -> dict[str, ValueSeen]:
    """What a broker runs with."""
    return {
        name: _strongest(name, [*_of_broker(settings, broker, name), (_LAST, key.default)])
        for name, key in settings_of(broker.version).items()
    }


_LAST = ValueOrigin.KAFKA_DEFAULT
_UNTOLD = frozenset({"retention.ms", "segment.ms"})
"""Of these Kafka 4.1 does not tell what is behind a topic's own value."""


def _of_broker(settings: FakeSettings, broker: FakeBroker, name: str) -> list[_Layer]:
    return [
        (ValueOrigin.BROKER_LIVE, settings.own.get(broker.id, {}).get(name)),
        (ValueOrigin.CLUSTER_LIVE, settings.defaults.get(name)),
        (ValueOrigin.FILE, settings.files.get(broker.id, {}).get(name)),
    ]


def _strongest(name: str, layers: Iterable[_Layer]) -> ValueSeen:
    set_ = [(origin, value) for origin, value in layers if value is not None]
    if not set_:
        return ValueSeen(None, ValueOrigin.KAFKA_DEFAULT)
    (origin, value), *rest = set_
    if not rest or name in _UNTOLD:
        return ValueSeen(value, origin)
    return ValueSeen(value, origin, rest[0][1], rest[0][0], name)
