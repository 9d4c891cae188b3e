"""The port for windows of brokers' latencies, CPU and traffic, and both ways there are: the metric lake, and none."""

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol, TypeVar

from controlplane.converger.tick.lake_rates import OLDEST_S, read_lake
from controlplane.runtime.short_cache import ShortCache
from events.clock import utc_now
from planner.anomalies.cooling import Load
from planner.anomalies.slow import BrokerWindow
from planner.observed import TopicPartition
from spark.metrics.read_trends import ClusterTrends

_T = TypeVar("_T")
MINUTE_S = 60
SHOWN_ANEW = timedelta(seconds=30)
"""Pages reload by themselves, and a minute more is there every five minutes."""
TRENDS_ANEW = timedelta(minutes=10)
"""They are made once a day."""
_log = logging.getLogger(__name__)


class Windows(Protocol):
    """Closed windows of one width, by cluster uid. What cannot be read is empty: nobody is slow by silence."""

    def recent(self, now: datetime) -> Mapping[str, Sequence[BrokerWindow]]:
        """Those of the last half hour, of all clusters at once."""

    def past(self, cluster: str, brokers: Sequence[int], now: datetime) -> Sequence[BrokerWindow]:
        """Those of the last day and a bit, of these brokers."""

    def loads(self, cluster: str, now: datetime) -> Mapping[TopicPartition, Load]:
        """What clients write to and read from its partitions, where that is known and young; a walk over them all."""

    def figures(self, cluster: str, since: datetime, now: datetime) -> Sequence[BrokerWindow]:
        """Minutes of all its brokers that began since then, with every figure that is measured of a broker."""
        ...

    def trends(self) -> Mapping[str, ClusterTrends]:
        """How figures of brokers grow, of all clusters at once."""
        ...


class NoWindows:
    """`Windows` where there is no metric lake: slow brokers are not looked for."""

    def recent(self, now: datetime) -> Mapping[str, Sequence[BrokerWindow]]:
        return {}

    def past(self, cluster: str, brokers: Sequence[int], now: datetime) -> Sequence[BrokerWindow]:
        return ()

    def loads(self, cluster: str, now: datetime) -> Mapping[TopicPartition, Load]:
        return {}

    def figures(self, cluster: str, since: datetime, now: datetime) -> Sequence[BrokerWindow]:
        return ()

    def trends(self) -> Mapping[str, ClusterTrends]:
        """See Windows."""
        return {}


class LakeWindows:
    """`Windows` of the lake at this path or URL, of `width_s` (60 or 300)."""

    def __init__(self, lake: str, width_s: int) -> None:
        self._lake, self._width_s = lake, width_s
        self._shown: ShortCache[tuple[str, timedelta], Sequence[BrokerWindow]] = ShortCache(utc_now, fresh=SHOWN_ANEW)
        self._trends: ShortCache[str, Mapping[str, ClusterTrends]] = ShortCache(utc_now, fresh=TRENDS_ANEW)

    def recent(self, now: datetime) -> Mapping[str, Sequence[BrokerWindow]]:
        from spark.metrics.latencies import recent_windows

        return self._read(lambda: recent_windows(self._lake, self._width_s, now=now), {})

    def past(self, cluster: str, brokers: Sequence[int], now: datetime) -> Sequence[BrokerWindow]:
        from spark.metrics.latencies import past_windows

        return self._read(lambda: past_windows(self._lake, self._width_s, cluster, brokers, now=now), ())

    def loads(self, cluster: str, now: datetime) -> Mapping[TopicPartition, Load]:
        rates = read_lake(self._lake, cluster, now)
        if rates.age_s is None or rates.age_s > OLDEST_S:
            _log.info("%s: %s", cluster, rates.reason)
            return {}
        partitions = rates.by_partition.items()
        return {TopicPartition(*name): Load(rate.write_bytes_per_s, rate.read_bytes_per_s) for name, rate in partitions}

    def figures(self, cluster: str, since: datetime, now: datetime) -> Sequence[BrokerWindow]:
        from spark.metrics.latencies import figure_windows

        def look(_: Sequence[BrokerWindow] | None) -> Sequence[BrokerWindow]:
            return self._read(lambda: figure_windows(self._lake, MINUTE_S, cluster, since=since, now=now), ())

        return self._shown.look((cluster, now - since), look)

    def trends(self) -> Mapping[str, ClusterTrends]:
        """See Windows."""
        from spark.metrics.read_trends import read_trends

        def look(_: Mapping[str, ClusterTrends] | None) -> Mapping[str, ClusterTrends]:
            return self._read(lambda: read_trends(self._lake), {})

        return self._trends.look("all", look)

    def _read(self, read: Callable[[], _T], nothing: _T) -> _T:
        from deltalake.exceptions import DeltaError
        from pyarrow import ArrowException

        try:
            return read()
        except (DeltaError, ArrowException, OSError, ValueError, KeyError) as error:
            _log.warning("the metric lake at %s cannot be read: %r", self._lake, error)
            return nothing


def windows_of(lake: str, width_s: int) -> Windows:
    """Those of the lake, none where the settings name no lake."""
    return LakeWindows(lake, width_s) if lake else NoWindows()
