"""The settings of a topic, asked of its brokers when a person wants to see them."""

import threading
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Final, Protocol

from controlplane.kafka.errors import KafkaUnavailable
from controlplane.kafka.gateway import KafkaGateway
from controlplane.view import ClusterView
from events.clock import Clock
from events.ids import ClusterUid

FRESH: Final = timedelta(seconds=10)
"""Who asks again within this time gets the answer there is: pages reload by themselves."""
_MOST_KEPT: Final = 256


class TopicSettings(Protocol):
    """What is set on topics themselves; `TopicSettingsDesk` is one."""

    def look(self, view: ClusterView, topic: str) -> Mapping[str, str] | None:
        """By key, without what Kedge itself sets while it moves replicas; None for a topic that is not there.

        Raises KafkaFault. Takes up to 10 s.
        """
        ...


class NoTopicSettings:
    """Where no broker is asked."""

    def look(self, view: ClusterView, topic: str) -> Mapping[str, str] | None:
        """See TopicSettings."""
        why = "this server asks no brokers for that"
        raise KafkaUnavailable(what="reading topic configs", where=view.name, why=why)


class TopicSettingsDesk:
    """Thread-safe. `kafka` is a way to brokers of its own: a long look must not keep a tick waiting."""

    def __init__(self, kafka: Callable[[ClusterView], KafkaGateway], clock: Clock) -> None:
        self._kafka, self._clock = kafka, clock
        self._guard = threading.Lock()
        self._kept: dict[tuple[ClusterUid, str], tuple[datetime, Mapping[str, str] | None]] = {}

    def look(self, view: ClusterView, topic: str) -> Mapping[str, str] | None:
        """See TopicSettings."""
        now, key = self._clock(), (view.uid, topic)
        with self._guard:
            known = self._kept.get(key)
        if known is not None and now - known[0] < FRESH:
            return known[1]
        found = self._kafka(view).topic_configs([topic]).get(topic)
        with self._guard:
            self._kept.pop(key, None)
            self._kept[key] = now, found
            while len(self._kept) > _MOST_KEPT:
                self._kept.pop(next(iter(self._kept)))
        return found
