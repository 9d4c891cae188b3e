"""Looks at what is written to topics whose documents declare a band, every few minutes; no other topic is asked for.

Kept in memory: after a start of the server three windows pass before a rate is judged, and until then nothing changes.
"""

import logging
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Protocol

from controlplane.fleets import SeenFleet
from controlplane.kafka.errors import KafkaFault
from controlplane.kafka.gateway import KafkaGateway
from controlplane.view import ClusterView, once
from events.clock import Clock
from events.ids import ClusterUid
from planner.anomalies.topicrates import AGREEING, WINDOW, Band, RateSeen, rate_between
from planner.asked import TopicLogs

Rates = Mapping[str, tuple[RateSeen, ...]]
"""By topic, the last windows, oldest first."""

NO_RATES: Rates = MappingProxyType({})
_ROUND = timedelta(seconds=45)
"""A round ends after this time; topics it did not come to are the first of the next one."""

_log = logging.getLogger(__name__)


class TopicRates(Protocol):
    """What is written to topics with a band; `RateWatch` is one."""

    def of(self, uid: ClusterUid) -> Rates: ...


class NoRates:
    """Where no broker is asked."""

    def of(self, uid: ClusterUid) -> Rates:
        """See TopicRates."""
        return NO_RATES


@once
def bands(view: ClusterView) -> Mapping[str, Band]:
    """The declared bands by topic; of topics that are not there yet, or go, there is none."""
    return {
        name: Band(topic.declared.rate_min, topic.declared.rate_max)
        for name, topic in view.topics.by_name.items()
        if (topic.declared.rate_min is not None or topic.declared.rate_max is not None)
        and topic.owned
        and not topic.tombstone
    }


class RateWatch:
    """Polled by the leader alone. `kafka` is a way to brokers that keeps no tick waiting."""

    def __init__(self, fleet: SeenFleet, kafka: Callable[[ClusterView], KafkaGateway], clock: Clock) -> None:
        self._fleet, self._kafka, self._clock = fleet, kafka, clock
        self._looks: dict[ClusterUid, dict[str, TopicLogs]] = {}
        self._rates: dict[ClusterUid, Rates] = {}

    def of(self, uid: ClusterUid) -> Rates:
        """See TopicRates."""
        return self._rates.get(uid, NO_RATES)

    def poll(self) -> None:
        """A cluster whose brokers do not answer is left for the next round."""
        began = self._clock()
        with_bands = [v for v in self._fleet.views() if v.document is not None and not v.deleted and bands(v)]
        self._forget({v.uid for v in with_bands})
        for view in sorted(with_bands, key=self._looked_at):
            try:
                self._look(view, began)
            except KafkaFault as fault:
                _log.info("rates of topics of %s: %s", view.name, fault)
            if self._clock() - began >= _ROUND:
                return

    def _look(self, view: ClusterView, began: datetime) -> None:
        declared, looks = bands(view), self._looks.setdefault(view.uid, {})
        for gone in looks.keys() - declared.keys():
            del looks[gone]
        self._rates[view.uid] = {n: r for n, r in self.of(view.uid).items() if n in declared}
        due = [n for n in declared if n not in looks or began - looks[n].at >= WINDOW]
        for name in sorted(due, key=lambda n: (n in looks, looks[n].at if n in looks else began)):
            if self._clock() - began >= _ROUND:
                return
            logs = self._kafka(view).topic_logs(name)
            before = looks.pop(name, None)
            if logs is None:
                continue  # it is not there: that is another anomaly
            looks[name] = logs
            rate = rate_between(before, logs) if before is not None else None
            if rate is not None:
                known = self.of(view.uid)
                self._rates[view.uid] = {**known, name: (*known.get(name, ()), rate)[-AGREEING:]}

    def _looked_at(self, view: ClusterView) -> datetime:
        """When the topic was looked at that waits longest; those never looked at first."""
        looks = self._looks.get(view.uid, {})
        known = [looks[n].at for n in bands(view) if n in looks]
        return min(known) if len(known) == len(bands(view)) else datetime.min.replace(tzinfo=self._clock().tzinfo)

    def _forget(self, kept: set[ClusterUid]) -> None:
        for uid in self._looks.keys() - kept:
            del self._looks[uid]
            self._rates.pop(uid, None)
