"""Brokers in named sets, and topics that stay within one: whose replicas may be where. Values, pure."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from events.spec.topic_names import HEARTBEATS

ANY_TOPIC = "*"
"""At the end of a pattern: all names that begin so. Alone: every topic that no other pattern names."""

NO_SET = ""
"""The brokers that no set has, which are a set as well: that of the topics no set names."""


@dataclass(frozen=True, slots=True)
class BrokerSets:
    """`of_broker`: the set of each broker, by id; one that is not in it has none. `of_topics`: the set of topics, by
    full name or by a prefix that ends in `*`. Without any of those, every topic may be everywhere."""

    of_broker: Mapping[int, str] = field(default_factory=dict)
    of_topics: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.of_topics)

    def of_topic(self, topic: str) -> str:
        """The set of a topic: by its name, else by the longest prefix of it, else NO_SET."""
        named = self.of_topics.get(topic)
        if named is not None:
            return named
        fitting = [p for p in self.of_topics if p.endswith(ANY_TOPIC) and topic.startswith(p.removesuffix(ANY_TOPIC))]
        return self.of_topics[max(fitting, key=len)] if fitting else NO_SET

    def set_of(self, broker: int) -> str:
        return self.of_broker.get(broker, NO_SET)

    def may_hold(self, topic: str, brokers: Iterable[int]) -> frozenset[int]:
        """Those of the brokers on which replicas of the topic may be. Each broker leads a heartbeat."""
        if not self or topic == HEARTBEATS:
            return frozenset(brokers)
        own = self.of_topic(topic)
        return frozenset(b for b in brokers if self.set_of(b) == own)

    def outside(self, topic: str, replicas: Collection[int]) -> tuple[int, ...]:
        """The replicas that are on brokers of another set, in their order."""
        may = self.may_hold(topic, replicas)
        return tuple(b for b in replicas if b not in may)

    def beside(self, broker: int, brokers: Iterable[int]) -> tuple[int, ...]:
        """Those of the brokers that are in the set of this one, in their order."""
        return tuple(b for b in brokers if not self or self.set_of(b) == self.set_of(broker))


NO_SETS = BrokerSets()


def set_words(name: str) -> str:
    """`broker set fast`, or who has none."""
    return f"broker set {name}" if name else "the brokers of no set"
