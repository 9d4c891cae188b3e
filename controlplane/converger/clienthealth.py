"""Looks at the health of clusters from look to look, in memory. If it is lost the time counts anew, which only tells
later.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from controlplane.converger.healthseen import WELL, HealthSeen
from controlplane.converger.registrations import astray
from controlplane.view import ClusterView
from events.ids import ClusterUid
from planner.observed import KafkaSnapshot

_Key = TypeVar("_Key")


class HealthWatch:
    """Of all clusters, by look: nothing is done at a tick without a new one."""

    def __init__(self) -> None:
        self._looks: dict[ClusterUid, datetime] = {}
        self._seen: dict[ClusterUid, HealthSeen] = {}

    def see(self, view: ClusterView, kafka: KafkaSnapshot, *, working: bool) -> HealthSeen:
        """Takes in a look. While Kedge itself is at work replicas are missing on purpose: no time counts then."""
        before = self._seen.get(view.uid, WELL)
        if self._looks.get(view.uid) == kafka.at:
            return before
        self._looks[view.uid] = kafka.at
        lacking = () if working else kafka.at_min_isr
        wrong = astray(view, kafka)
        if not (lacking or wrong or before.at_min_isr or before.astray):
            return before
        seen = replace(
            before,
            at_min_isr=_since(before.at_min_isr, [p.name for p in lacking], kafka.at),
            astray=_since(before.astray, wrong, kafka.at),
        )
        self._seen[view.uid] = seen
        return seen

    def is_suspicious(self, uid: ClusterUid) -> bool:
        """Whether it takes the agents' word to tell what is wrong with brokers."""
        return bool(self._seen.get(uid, WELL).astray)

    def heartbeats_asked(self, uid: ClusterUid, at: datetime) -> None:
        self._seen[uid] = replace(self._seen.get(uid, WELL), heartbeats_asked_at=at)


def _since(before: Mapping[_Key, datetime], now: Collection[_Key], at: datetime) -> Mapping[_Key, datetime]:
    return {key: before.get(key, at) for key in now}
