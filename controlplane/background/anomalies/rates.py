"""Looks at what is written to topics whose documents declare a band, or ask for a learned one, every few minutes; no
other topic is asked for.

Kept in memory: after a start of the server three windows pass before a rate is judged, and until then nothing changes.
What is learned is durable, see `ratelearning`.
"""

import logging
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Protocol

from controlplane.background.anomalies.rate_learning import RateLearning
from controlplane.background.rounds import Round
from controlplane.cluster.view import ClusterView
from controlplane.fleet.ports import SeenFleet
from controlplane.kafka.errors import KafkaFault
from controlplane.kafka.gateway import TopicGateway
from controlplane.runtime.once import once
from events.clock import Clock
from events.ids import ClusterUid
from planner.anomalies.topic_rates import AGREEING, WINDOW, Band, RateSeen, rate_between
from planner.broker_answers import TopicLogs

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
    """`TopicRates` where no broker is asked."""

    def of(self, uid: ClusterUid) -> Rates:
        return NO_RATES


@once
def bands(view: ClusterView) -> Mapping[str, Band | None]:
    """The declared bands by topic, None where it is to be learned; topics that are not there yet, or go, have none."""
    kept = [t.declared for t in view.topics.by_name.values() if t.owned and not t.tombstone]
    return {
        declared.name: None if declared.rate_learn else Band(declared.rate_min, declared.rate_max)
        for declared in kept
        if declared.rate_learn or declared.rate_min is not None or declared.rate_max is not None
    }


@once
def learning(view: ClusterView) -> frozenset[str]:
    """The topics whose band is to be learned."""
    return frozenset(name for name, band in bands(view).items() if band is None)


class RateWatch:
    """`TopicRates`, polled by the leader alone. `kafka` is a way to brokers that keeps no tick waiting."""

    def __init__(
        self, fleet: SeenFleet, kafka: Callable[[ClusterView], TopicGateway], clock: Clock, learning: RateLearning
    ) -> None:
        self._fleet, self._kafka, self._clock, self._learning = fleet, kafka, clock, learning
        self._readings: dict[ClusterUid, dict[str, TopicLogs]] = {}
        self._rates: dict[ClusterUid, Rates] = {}
        self._tried: dict[ClusterUid, datetime] = {}

    def of(self, uid: ClusterUid) -> Rates:
        return self._rates.get(uid, NO_RATES)

    def poll(self) -> None:
        """A cluster that cannot be looked at is left for the next round. Raises StoreUnavailable, and RoundIncomplete
        where one was left out for another reason than that its brokers did not answer."""
        began, this_round = self._clock(), Round("rates of topics")
        views = [v for v in self._fleet.views() if v.document is not None]
        with_bands = [v for v in views if not v.deleted and bands(v)]
        readable = [v for v in views if not v.history.unreadable]
        self._learning.begin(readable, {v.uid: learning(v) for v in readable if not v.deleted and learning(v)}, began)
        self._forget({v.uid for v in with_bands})
        for view in sorted(with_bands, key=self._looked_at):
            with this_round.apart(view.name):
                try:
                    self._look(view, began)
                except KafkaFault as fault:
                    _log.info("rates of topics of %s: %s", view.name, fault)
            self._tried[view.uid] = self._clock()
            if self._clock() - began >= _ROUND:
                break
        this_round.close()

    def _look(self, view: ClusterView, began: datetime) -> None:
        declared, readings = bands(view), self._readings.setdefault(view.uid, {})
        for gone in readings.keys() - declared.keys():
            del readings[gone]
        self._rates[view.uid] = {n: r for n, r in self.of(view.uid).items() if n in declared}
        due = [n for n in declared if n not in readings or began - readings[n].at >= WINDOW]
        for name in sorted(due, key=lambda n: (n in readings, readings[n].at if n in readings else began)):
            if self._clock() - began >= _ROUND:
                return
            logs = self._kafka(view).topic_logs(name)
            before = readings.pop(name, None)
            if logs is None:
                continue  # it is not there: that is another anomaly
            readings[name] = logs
            rate = rate_between(before, logs) if before is not None else None
            if rate is not None:
                rate = self._learning.seen(view.uid, name, rate) if declared[name] is None else rate
                known = self.of(view.uid)
                self._rates[view.uid] = {**known, name: (*known.get(name, ()), rate)[-AGREEING:]}

    def _looked_at(self, view: ClusterView) -> datetime:
        """When the topic was looked at that waits longest, or a look at the cluster was tried; those never looked at
        first."""
        readings, never = self._readings.get(view.uid, {}), datetime.min.replace(tzinfo=self._clock().tzinfo)
        known = [readings[n].at for n in bands(view) if n in readings]
        waits_since = min(known) if len(known) == len(bands(view)) else never
        return max(waits_since, self._tried.get(view.uid, never))

    def _forget(self, kept: set[ClusterUid]) -> None:
        self._tried = {uid: at for uid, at in self._tried.items() if uid in kept}
        for uid in self._readings.keys() - kept:
            del self._readings[uid]
            self._rates.pop(uid, None)
