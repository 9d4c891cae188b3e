"""Since when the brokers of a cluster run, by their agents' word: read once for a page, and kept for some seconds."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from controlplane.api.moments import moment_in
from controlplane.cluster.observed.agent_reports import AGENT_REPORT
from controlplane.runtime.short_cache import ShortCache
from controlplane.storage.latest_values import LatestStore, LatestValue
from events.clock import Clock
from events.ids import ClusterUid

SILENT = timedelta(minutes=3)
"""A report older than this says nothing about now."""
_MOST = 200

Uptimes = Mapping[str, datetime]
"""By instance key, since when its broker runs; one that does not, or of which nobody has told lately, is missing."""


def running_since(rows: Iterable[LatestValue], now: datetime) -> dict[str, datetime]:
    """Out of agents' reports as they are kept. Pure."""
    found: dict[str, datetime] = {}
    for row in rows:
        if now - row.observed_at > SILENT:
            continue
        for service in row.value.get("services", ()):
            since = moment_in(str(service["since"]))
            if service["name"] == "broker" and service["state"] == "running" and since is not None:
                found[row.subject.name] = since
    return found


class UptimeQueries:
    """Pages come again and again: the reports of a cluster are read once in 10 seconds for all of them."""

    def __init__(self, latest: LatestStore, clock: Clock) -> None:
        self._latest, self._clock = latest, clock
        self._cache: ShortCache[ClusterUid, Uptimes] = ShortCache(clock, most=_MOST)

    def of(self, uid: ClusterUid) -> Uptimes:
        """Of one cluster. Raises StoreUnavailable."""
        return self._cache.look(uid, lambda _: running_since(self._latest.of_cluster(uid, AGENT_REPORT), self._clock()))
