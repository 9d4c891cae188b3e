"""What is asked of the places of a topic's replicas, and where replicas may be. Values."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from events.spec.broker_sets import NO_SET, NO_SETS, BrokerSets
from planner.observed import TopicPartition

AntiAffinity = Literal["strict", "best-effort", "none"]
"""Replicas of a partition in zones of their own: as long as there are zones at all, as long as one can take a replica
now, or wherever they are."""


@dataclass(frozen=True, slots=True)
class TopicPolicy:
    """`replicas`: how many there are to be, None where nobody said so."""

    anti_affinity: AntiAffinity = "best-effort"
    replicas: int | None = None


Policies = Callable[[str], TopicPolicy]
"""By the name of a topic."""


@dataclass(frozen=True, slots=True)
class ClusterBrokers:
    """The brokers of a cluster.

    `racks`: of every broker that exists, serving or not; a replica on any other id is lost for good. `receivers`: may
    get replicas now. `zones`: how many the cluster is meant to be in, though a zone may have no broker just now.
    """

    racks: Mapping[int, str]
    receivers: frozenset[int]
    zones: int
    given_up: frozenset[int] = frozenset()
    """Of those that are not there, the ones a person gave up."""
    offline: Mapping[TopicPartition, frozenset[int]] = field(default_factory=lambda: MappingProxyType({}))
    """Replicas that are lost though their brokers serve: in log directories that are offline, and given up."""
    sets: BrokerSets = NO_SETS
    """Whose replicas may be where."""

    def is_gone(self, name: TopicPartition, broker: int) -> bool:
        """Whether the replica of that partition on this broker is lost for good."""
        return broker not in self.racks or broker in self.offline.get(name, ())

    def open_to(self, topic: str) -> frozenset[int]:
        """The brokers that may get replicas of the topic now."""
        return self.sets.may_hold(topic, self.receivers)

    def open_zones(self, name: str = NO_SET) -> frozenset[str]:
        """Zones with a broker of that set that may get replicas now; of any where there are no sets."""
        return frozenset(self.racks[b] for b in self.receivers if not self.sets or self.sets.set_of(b) == name)

    def zones_of(self, name: str = NO_SET) -> int:
        """How many zones the replicas of that set's topics can be in, though one may have no broker just now."""
        if not self.sets:
            return self.zones
        return len({rack for b, rack in self.racks.items() if self.sets.set_of(b) == name})
