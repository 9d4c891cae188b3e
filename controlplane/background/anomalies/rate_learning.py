"""Keeps what is written to topics that ask for a learned band, and tells the band of each window.

Durable: a row of latest values for each topic and hour of the day (UTC) with the rates of that hour's windows on the
last days, written once an hour. In memory is the hour that runs: a server that starts in the middle of one learns
nothing from it unless it saw half of it.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta

from pydantic import TypeAdapter, ValidationError

from controlplane.background.anomalies.record import noted
from controlplane.background.anomalies.status import own_doing
from controlplane.cluster.view import ClusterView
from controlplane.storage.latest_values import LatestStore, LatestValue, Subject
from events.ids import ClusterUid
from planner.anomalies import judge, kinds, learned_rates, topic_rates

Topic = tuple[ClusterUid, str]

SETTLES = topic_rates.WINDOW
"""After work of ours: clients come back, and what they could not send comes at once."""
_CONSIDERED = topic_rates.AGREEING * topic_rates.WINDOW + topic_rates.LONGEST
"""An hour is kept so long after its end: by then an anomaly that began in it is found."""
_UNWATCHED = timedelta(minutes=3)
"""Rounds further apart leave out what was done between them."""
_HOUR = timedelta(hours=1)
_HOURS = range(24)
_SOURCE = "kafka"
_ANY_RATE = judge.AnomalyFinding(kinds.Kind.TOPIC_ANOMALY, topic_rates.rate_subject(""), "")
_PAST: TypeAdapter[learned_rates.Past] = TypeAdapter(learned_rates.Past)


@dataclass(frozen=True, slots=True)
class _Hindrance:
    """Of one cluster: when Kedge was last seen at work on it, and its topics with an anomaly."""

    at_work: datetime | None
    odd: frozenset[str]


class RateLearning:
    """Used by one thread, that of the leader's looks. All verbs may raise StoreUnavailable."""

    def __init__(self, latest: LatestStore) -> None:
        self._latest = latest
        self._running: dict[datetime, dict[Topic, tuple[float, ...]]] = {}
        self._known: dict[datetime, dict[Topic, learned_rates.Past]] = {}
        self._hindered: dict[ClusterUid, _Hindrance] = {}
        self._kept: set[Topic] | None = None
        self._round_at: datetime | None = None

    def begin(
        self, views: Iterable[ClusterView], learning: Mapping[ClusterUid, Collection[str]], now: datetime
    ) -> None:
        """Once in each round, before its looks: what stands in the way of learning, which hours are whole, and which
        topics do not learn any more. What is not in `views` is unknown, and left."""
        unwatched = self._round_at is not None and now - self._round_at > _UNWATCHED
        if self._kept is None or unwatched:  # another server may have led meanwhile
            self._known.clear()
            self._kept = {topic for hour in _HOURS for topic, past in self._rows(hour).items() if past}
        if not learning and not self._kept and not self._running:
            self._round_at = now
            return
        by_uid = {v.uid: v for v in views}
        self._hindered = {uid: self._hindrance(by_uid[uid], now, unwatched=unwatched) for uid in learning}
        self._round_at = now  # only now: a round whose reads failed has seen nothing
        self._drop([(uid, topic) for uid, hindrance in self._hindered.items() for topic in hindrance.odd])
        there = self._kept.union(*self._running.values())
        self._forget([(uid, n) for uid, n in there if uid in by_uid and n not in learning.get(uid, ())], now)
        for start in [s for s in self._running if s + _HOUR + _CONSIDERED <= now]:
            self._keep(start, now)
        for start in [s for s in self._known if s + 2 * _HOUR <= now]:
            del self._known[start]

    def seen(self, uid: ClusterUid, topic: str, rate: topic_rates.RateSeen) -> topic_rates.RateSeen:
        """The window with its band. It is learned from, unless Kedge was at work, or `begin` takes it back."""
        start = _hour_of(rate)
        if start not in self._known:
            self._known[start] = self._rows(start.hour)
        if self._may_learn(uid, rate):
            running = self._running.setdefault(start, {})
            running[uid, topic] = (*running.get((uid, topic), ()), float(f"{rate.per_s:.4g}"))
        return replace(rate, band=_band(learned_rates.learned(self._known[start].get((uid, topic), ()), start.date())))

    def _may_learn(self, uid: ClusterUid, rate: topic_rates.RateSeen) -> bool:
        known = self._hindered.get(uid)
        began = rate.at - timedelta(seconds=rate.seconds)
        return known is not None and (known.at_work is None or began - known.at_work >= SETTLES)

    def _hindrance(self, view: ClusterView, now: datetime, *, unwatched: bool) -> _Hindrance:
        before = self._hindered.get(view.uid)
        ours = view.moves.rebalance is not None or bool(own_doing(view, _ANY_RATE, now))
        open_ = noted(self._latest, view.uid).open_
        odd = frozenset(
            topic_rates.topic_of_rate(a.subject) or a.subject for a in open_ if a.kind is kinds.Kind.TOPIC_ANOMALY
        )
        return _Hindrance(now if ours or unwatched else before.at_work if before else None, odd)

    def _keep(self, start: datetime, now: datetime) -> None:
        """Rows are read again directly before: another server may have led meanwhile."""
        known, rows = self._rows(start.hour), {}
        for topic, rates in self._running[start].items():
            past = learned_rates.with_hour(known.get(topic, ()), learned_rates.HourOfDay(start.date(), rates))
            if past != known.get(topic, ()):
                rows[topic] = _row(topic, start.hour, past, now)
        self._latest.put_all(list(rows.values()))
        self._kept = (self._kept or set()) | rows.keys()
        del self._running[start]

    def _forget(self, gone: Collection[Topic], now: datetime) -> None:
        """A topic that asks for it again begins anew."""
        if not gone:
            return
        self._latest.put_all([_row(topic, hour, (), now) for topic in sorted(gone) for hour in _HOURS])
        self._kept = (self._kept or set()).difference(gone)
        self._drop(gone)
        self._known.clear()

    def _drop(self, topics: Collection[Topic]) -> None:
        for running in self._running.values():
            for topic in topics:
                running.pop(topic, None)

    def _rows(self, hour: int) -> dict[Topic, learned_rates.Past]:
        rows = self._latest.of_kind(_kind(hour))
        return {(r.subject.cluster_uid, r.subject.name): _past(r) for r in rows}


def learned_now(
    latest: LatestStore, uid: ClusterUid, topic: str, now: datetime
) -> learned_rates.LearnedBand | learned_rates.NotJudged:
    """What is known of a topic for the hour that runs, for people. Raises StoreUnavailable."""
    at = now.astimezone(UTC)
    row = latest.get(Subject(_kind(at.hour), uid, topic))
    return learned_rates.learned(_past(row) if row is not None else (), at.date())


def learned_past(latest: LatestStore, uid: ClusterUid, topic: str) -> list[tuple[datetime, float]]:
    """What was learned from, for people: the middle of each hour that is kept, and its mean rate, oldest first."""
    found = []
    for hour in range(24):
        row = latest.get(Subject(_kind(hour), uid, topic))
        for kept in _past(row) if row is not None else ():
            at = datetime.combine(kept.day, time(hour, 30), UTC)
            found += [(at, sum(kept.per_s) / len(kept.per_s))] if kept.per_s else []
    return sorted(found)


def _band(verdict: learned_rates.LearnedBand | learned_rates.NotJudged) -> topic_rates.Band | None:
    """Where too little is known nothing is outside; an hour that is not stable says nothing either way."""
    if isinstance(verdict, learned_rates.LearnedBand):
        return verdict
    return None if verdict.is_known else topic_rates.ENDLESS


def _hour_of(rate: topic_rates.RateSeen) -> datetime:
    """The hour its middle is in: a window may begin in one and end in the next."""
    middle = (rate.at - timedelta(seconds=rate.seconds / 2)).astimezone(UTC)
    return middle.replace(minute=0, second=0, microsecond=0)


def _kind(hour: int) -> str:
    return f"topic-rates-{hour:02d}"


def _row(topic: Topic, hour: int, past: learned_rates.Past, now: datetime) -> LatestValue:
    value = {"days": _PAST.dump_python(past, mode="json")}
    return LatestValue(Subject(_kind(hour), *topic), value, _SOURCE, now)


def _past(row: LatestValue) -> learned_rates.Past:
    """What another release wrote is learned anew."""
    try:
        return _PAST.validate_python(row.value.get("days", ()))
    except ValidationError:
        return ()
