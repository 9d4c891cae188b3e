"""What is asked of Kafka for topics in one go."""

from collections.abc import Mapping
from dataclasses import dataclass, field

Replicas = tuple[int, ...]
"""Broker ids of one partition, the preferred leader first."""


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to be made: replicas by partition, and its configuration."""

    partitions: tuple[Replicas, ...]
    config: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Growth:
    """Partitions to be added: how many there are then, and the replicas of the new ones."""

    total: int
    added: tuple[Replicas, ...]


@dataclass(frozen=True, slots=True)
class TopicStep:
    """By topic name. `configure`: key -> value, None takes back the topic's own value."""

    create: Mapping[str, NewTopic] = field(default_factory=dict)
    grow: Mapping[str, Growth] = field(default_factory=dict)
    configure: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    delete: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.create or self.grow or self.configure or self.delete)

    @property
    def names(self) -> frozenset[str]:
        return frozenset((*self.create, *self.grow, *self.configure, *self.delete))

    def without(self, names: frozenset[str]) -> "TopicStep":
        """The step but for these topics."""
        return TopicStep(
            {k: v for k, v in self.create.items() if k not in names},
            {k: v for k, v in self.grow.items() if k not in names},
            {k: v for k, v in self.configure.items() if k not in names},
            tuple(name for name in self.delete if name not in names),
        )
