"""Looks at the health of clusters from look to look, in memory. If it is lost the time counts anew, which only tells
later.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TypeVar

from controlplane.cluster.observed.health import WELL, HealthSeen
from controlplane.cluster.view import ClusterView
from controlplane.converger.questions.services.registrations import Misregistration, misregistered
from events.ids import ClusterUid
from planner.breakdown import Absence
from planner.observed import KafkaSnapshot
from providers.harm import Harm

_Key = TypeVar("_Key")

UNSEEN = timedelta(seconds=150)
"""What was so before a longer time without a look need not have been so all the while: it counts anew. A cluster at
rest is looked at each minute."""

STEADY = timedelta(seconds=60)
"""A broker that is back for a shorter time is still away: one that ends again and again may serve in between."""


class HealthWatch:
    """Of all clusters, by look: nothing is done at a tick without a new one."""

    def __init__(self) -> None:
        self._read_at: dict[ClusterUid, datetime] = {}
        self._seen: dict[ClusterUid, HealthSeen] = {}

    def see(self, view: ClusterView, kafka: KafkaSnapshot, *, working: bool) -> HealthSeen:
        """Takes in a look. While Kedge itself is at work replicas are missing on purpose: no time counts then."""
        before, looked = self._seen.get(view.uid, WELL), self._read_at.get(view.uid)
        if looked == kafka.at:
            return before
        self._read_at[view.uid] = kafka.at
        lacking = () if working else kafka.at_min_isr
        wrong = misregistered(view, kafka)
        if not (lacking or wrong or before.at_min_isr or before.misregistered or before.away):
            return before
        if looked is not None and kafka.at - looked > UNSEEN:
            before = replace(before, misregistered={}, away={})
        seen = replace(
            before,
            at_min_isr=_since(before.at_min_isr, [p.name for p in lacking], kafka.at),
            misregistered=_since(before.misregistered, wrong, kafka.at),
            away=_away(before.away, _unexplained(view, wrong), kafka.at),
        )
        self._seen[view.uid] = seen
        return seen

    def hear(self, uid: ClusterUid, exits: Mapping[str, int], at: datetime) -> HealthSeen:
        """Takes in what agents say at `at` of how often processes of brokers that are away have ended, by instance."""
        before = self._seen.get(uid, WELL)
        away = {key: a.with_exits(exits[key], at) if key in exits else a for key, a in before.away.items()}
        if away != before.away:
            self._seen[uid] = replace(before, away=away)
        return self._seen.get(uid, before)

    def is_suspicious(self, uid: ClusterUid) -> bool:
        """Whether it takes the agents' word to tell what is wrong with brokers."""
        seen = self._seen.get(uid, WELL)
        return bool(seen.misregistered or seen.away)

    def heartbeats_asked(self, uid: ClusterUid, at: datetime) -> None:
        self._seen[uid] = replace(self._seen.get(uid, WELL), heartbeats_asked_at=at)


def _since(before: Mapping[_Key, datetime], now: Collection[_Key], at: datetime) -> Mapping[_Key, datetime]:
    return {key: before.get(key, at) for key in now}


def _unexplained(view: ClusterView, wrong: Mapping[int, Misregistration]) -> Collection[str]:
    """Instances Kafka does not count on, but for what people brought about: no time counts while such a fault is in
    hand. Whom a split keeps from whom only Kafka knows."""
    if any(chaos.fault == Harm.SPLIT for chaos in view.requests.chaos.values()):
        return ()
    harmed = {key for chaos in view.requests.chaos.values() for key in chaos.keys}
    return {a.key for a in wrong.values() if a.is_away and a.key not in harmed}


def _away(before: Mapping[str, Absence], gone: Collection[str], at: datetime) -> Mapping[str, Absence]:
    kept = {k: replace(a, last=at) if k in gone else a for k, a in before.items() if k in gone or at - a.last < STEADY}
    return {**kept, **{key: Absence(since=at, last=at) for key in gone if key not in before}}
