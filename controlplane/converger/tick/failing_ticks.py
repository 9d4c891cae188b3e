"""Ticks that fail, by cluster: how often in a row, and until when the cluster is left alone.

This is remembered, never recorded: what is recorded of it is the condition `TickFailing` (`conditions.ticks`).
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from controlplane.converger.conditions.ticks import TickFailures
from controlplane.runtime.backoff import delay_s
from events.ids import ClusterUid

LONGEST_PAUSE_S = 30.0


@dataclass(frozen=True, slots=True)
class Poisoned:
    """A cluster whose ticks fail in a row: since when, with what, and when it is looked at again."""

    uid: ClusterUid
    failures: int
    error: str
    since: datetime
    until: datetime


class FailingTicks:
    """What this server has seen since it began. Each cluster is asked of by one thread at a time."""

    def __init__(self) -> None:
        self._failed: dict[ClusterUid, tuple[TickFailures, datetime]] = {}
        """With the time until which it is left alone."""

    def failed(self, uid: ClusterUid, error: Exception, doing: str, now: datetime) -> tuple[TickFailures, float]:
        """Takes in one more failure. Returns all of them in a row, and for how many seconds the cluster rests now."""
        known = self._failed.get(uid)
        failures = (known[0] if known else TickFailures(now)).and_another(error, doing)
        pause_s = min(LONGEST_PAUSE_S, delay_s(failures.count) / 2)
        self._failed[uid] = failures, now + timedelta(seconds=pause_s)
        return failures, pause_s

    def succeeded(self, uid: ClusterUid) -> None:
        self._failed.pop(uid, None)

    def rests(self, uid: ClusterUid, now: datetime) -> bool:
        """Whether it is not yet time to look at the cluster again."""
        known = self._failed.get(uid)
        return known is not None and now < known[1]

    def poisoned(self) -> list[Poisoned]:
        """All whose last tick failed, the longest in trouble first."""
        found = dict(self._failed).items()
        told = [Poisoned(uid, f.count, f.error, f.since, until) for uid, (f, until) in found]
        return sorted(told, key=lambda one: one.since)
