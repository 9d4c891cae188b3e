"""Topics of the cluster in memory: what is set on them, and what it says to changes. Part of `FakeKafka`."""

from collections.abc import Collection, Mapping

from events.spec.setting_values import as_kafka_reads, unreadable_because
from events.spec.topic_table import EXECUTOR_KEYS, every_topic_key
from planner.observed import TopicPartition
from planner.topics.step import Replicas, TopicStep
from tests.fakes.kafka_parts import Copy, FakeBroker, FakePartition
from tests.fakes.kafka_settings import FakeSettings

MIN_ISR = "min.insync.replicas"


class FakeTopics:
    """`own`: topic -> key -> value as set on the topic."""

    def __init__(
        self,
        brokers: Mapping[int, FakeBroker],
        partitions: dict[TopicPartition, FakePartition],
        settings: FakeSettings,
    ) -> None:
        self._brokers, self._partitions, self._settings = brokers, partitions, settings
        self.own: dict[str, dict[str, str]] = {}
        self.by_others = False
        """Somebody changed topics by hand, and nobody has looked since."""
        self.made: list[str] = []
        """What was created, grown, configured and deleted through the port, in order."""

    def configs(self, topics: Collection[str]) -> dict[str, dict[str, str]]:
        """As the topics have them."""
        self.by_others = False
        there = self._names()
        return {
            name: {k: v for k, v in self.own.get(name, {}).items() if k not in EXECUTOR_KEYS}
            for name in topics
            if name in there
        }

    def refusals(self, step: TopicStep) -> dict[str, str]:
        """In words like Kafka's."""
        there, refused = self._names(), {}
        for name, new in step.create.items():
            other = next((t for t in there if t != name and t.replace(".", "_") == name.replace(".", "_")), None)
            if other is not None:
                refused[name] = f"Topic '{name}' collides with existing topic: {other} (InvalidTopicError)"
            elif words := self._assignment(new.partitions) or _values(new.config):
                refused[name] = words
        for name, growth in step.grow.items():
            if name not in there:
                refused[name] = "This server does not host this topic-partition. (UnknownTopicOrPartitionError)"
            elif words := self._assignment(growth.added):
                refused[name] = words
        for name, values in step.configure.items():
            if words := _values({k: v for k, v in values.items() if v is not None}):
                refused[name] = words
        return refused

    def change(self, step: TopicStep) -> dict[str, str]:
        """Makes what is not refused."""
        refused = self.refusals(step)
        for name, new in step.create.items():
            if name in refused or name in self._names():
                continue
            self.own[name] = {k: _read(k, v) for k, v in new.config.items()}
            self._add(name, 0, new.partitions)
            self.made.append(f"create {name} {len(new.partitions)}x{len(new.partitions[0])}")
        for name, growth in step.grow.items():
            count = self.count(name)
            if name not in refused and count + len(growth.added) == growth.total:
                self._add(name, count, growth.added)
                self.made.append(f"grow {name} {growth.total}")
        for name, values in step.configure.items():
            if name not in refused and name in self._names():
                self._set(name, values)
                self.made.append(f"configure {name} {', '.join(f'{k}={v}' for k, v in sorted(values.items()))}")
        for name in step.delete:
            if name in self._names():
                self.forget(name)
                self.made.append(f"delete {name}")
        return refused

    def raised(self, step: TopicStep) -> tuple[str, ...]:
        """Topics there are whose min ISR would be higher after the step."""
        default = self._settings.defaults[MIN_ISR]
        asked = {n: v[MIN_ISR] or default for n, v in step.configure.items() if MIN_ISR in v}
        return tuple(n for n, to in sorted(asked.items()) if int(to) > int(self.own.get(n, {}).get(MIN_ISR, default)))

    def set_by_hand(self, name: str, values: Mapping[str, str | None]) -> None:
        """As `kafka-configs` does."""
        self.by_others = True
        self._set(name, values)

    def _set(self, name: str, values: Mapping[str, str | None]) -> None:
        merged = {**self.own.get(name, {}), **values}
        self.own[name] = {k: _read(k, v) for k, v in merged.items() if v is not None}
        for tp, p in self._partitions.items():
            if tp.topic == name:
                self._follow(name, p)

    def forget(self, name: str) -> None:
        """The topic and its records are gone."""
        for tp in [tp for tp in self._partitions if tp.topic == name]:
            del self._partitions[tp]
        self.own.pop(name, None)

    def scene(self) -> object:
        """What a person could have changed."""
        return tuple((name, tuple(sorted(own.items()))) for name, own in sorted(self.own.items()))

    def count(self, name: str) -> int:
        """Partitions of a topic."""
        return sum(tp.topic == name for tp in self._partitions)

    def _names(self) -> frozenset[str]:
        return frozenset(tp.topic for tp in self._partitions)

    def _add(self, name: str, first: int, partitions: tuple[Replicas, ...]) -> None:
        for n, replicas in enumerate(partitions, start=first):
            tp = TopicPartition(name, n)
            serving = [r for r in replicas if self._brokers[r].serves]
            leader = serving[0] if serving else -1
            made = FakePartition(tp, 1, list(replicas), serving, leader, copies={r: Copy() for r in replicas})
            self._partitions[tp] = made
            self._follow(name, made)

    def _follow(self, name: str, partition: FakePartition) -> None:
        own = self.own.get(name, {}).get(MIN_ISR)
        partition.follows_default = own is None
        partition.configured_min_isr = int(own if own is not None else self._settings.defaults[MIN_ISR])

    def _assignment(self, partitions: tuple[Replicas, ...]) -> str:
        for replicas in partitions:
            unknown = [r for r in replicas if r not in self._brokers or not self._brokers[r].registered]
            if unknown:
                return (
                    f"The manual partition assignment includes broker {unknown[0]}, but no such broker is registered. "
                    "(InvalidReplicationAssignmentError)"
                )
        return ""


def _values(config: Mapping[str, str]) -> str:
    known = every_topic_key()
    for key, value in sorted(config.items()):
        if key not in known:
            return f"Unknown topic config name: {key} (InvalidConfigurationError)"
        wrong = unreadable_because(known[key], value)
        if wrong is not None:
            return f"Invalid value {value} for configuration {key}: {wrong.why} (InvalidConfigurationError)"
    return ""


def _read(key: str, value: str) -> str:
    known = every_topic_key().get(key)
    return value if known is None else as_kafka_reads(known, value)
