"""What all brokers of a cluster took in and gave out of late, clients and replication together, by their own counters.

Known without any metrics pipeline, for an hour and in memory alone: what is older has the metric lake.
"""

from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

APART = timedelta(seconds=10)
"""Looks closer together than this make one point."""

KEPT = timedelta(hours=1)

UNKNOWN = float("nan")


@dataclass(frozen=True, slots=True)
class BrokerCounters:
    """Bytes since the broker started, as its agent said at `at` (the agent's clock). `fetched_bytes`: by consumers;
    `in_bytes`, `out_bytes`: of clients and replication together, None where nobody tells."""

    at: datetime
    fetched_bytes: float
    in_bytes: float | None = None
    out_bytes: float | None = None


@dataclass(frozen=True, slots=True)
class TrafficPoint:
    """All brokers in the time from `at` to the next point, clients and replication together; None where one of them is
    not known, as a sum without it would be too small."""

    at: datetime
    in_bytes_per_s: float | None
    out_bytes_per_s: float | None


class RecentTraffic:
    """The points of one cluster: three numbers each, as a fleet has many clusters."""

    def __init__(self) -> None:
        self._last: tuple[datetime, Mapping[int, BrokerCounters]] | None = None
        self._known: set[int] = set()
        """Who ever served: one that is back counts on, or anew, and nobody knows since when."""
        self._points = array("d")

    def see(self, at: datetime, live: frozenset[int], counters: Mapping[int, BrokerCounters]) -> None:
        """Takes in a look. `live`: who serves by Kafka's word; of others nothing is waited for. Who serves for the
        first time has counted from 0 since the look before."""
        if self._last is not None and at - self._last[0] < APART:
            return
        if self._last is not None and live:
            began, before = self._last
            since = {b: BrokerCounters(began, 0.0, 0.0, 0.0) for b in live - self._known} | dict(before)
            into, out = _rates(live, since, counters)
            if self._points or into == into or out == out:  # it begins with what is known
                self._points.extend((began.timestamp(), into, out))
        self._known |= live
        self._last = at, {broker: counters[broker] for broker in live & counters.keys()}
        oldest = (at - KEPT).timestamp()
        while self._points and self._points[0] < oldest:
            del self._points[:3]

    def points(self) -> tuple[TrafficPoint, ...]:
        """Oldest first."""
        rows = zip(*(self._points[n::3] for n in range(3)), strict=True)
        return tuple(TrafficPoint(datetime.fromtimestamp(at, UTC), _known(into), _known(out)) for at, into, out in rows)


def _rates(
    live: frozenset[int], before: Mapping[int, BrokerCounters], now: Mapping[int, BrokerCounters]
) -> tuple[float, float]:
    """Bytes/s of all of them, each over its agent's own clock; a count that fell began anew with its broker."""
    into = out = 0.0
    for broker in live:
        old, new = before.get(broker), now.get(broker)
        if old is None or new is None or new.at <= old.at:
            return UNKNOWN, UNKNOWN
        seconds = (new.at - old.at).total_seconds()
        into += _grown(old.in_bytes, new.in_bytes) / seconds
        out += _grown(old.out_bytes, new.out_bytes) / seconds
    return into, out


def _grown(old: float | None, new: float | None) -> float:
    return UNKNOWN if old is None or new is None or new < old else new - old


def _known(value: float) -> float | None:
    return None if value != value else value
