"""The port for windows of brokers' latencies, CPU and traffic, and both ways there are: the metric lake, and none."""

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Protocol, TypeVar

from controlplane.converger.tick.lake_rates import OLDEST_S, read_lake
from planner.anomalies.cooling import Load
from planner.anomalies.slow import BrokerWindow
from planner.observed import TopicPartition

_T = TypeVar("_T")
_log = logging.getLogger(__name__)


class Windows(Protocol):
    """Closed windows of one width, by cluster uid. What cannot be read is empty: nobody is slow by silence."""

    def recent(self, now: datetime) -> Mapping[str, Sequence[BrokerWindow]]:
        """Those of the last half hour, of all clusters at once."""

    def past(self, cluster: str, brokers: Sequence[int], now: datetime) -> Sequence[BrokerWindow]:
        """Those of the last day and a bit, of these brokers."""

    def loads(self, cluster: str, now: datetime) -> Mapping[TopicPartition, Load]:
        """What clients write to and read from its partitions, where that is known and young; a walk over them all."""


class NoWindows:
    """Where there is no metric lake: slow brokers are not looked for."""

    def recent(self, now: datetime) -> Mapping[str, Sequence[BrokerWindow]]:
        """See Windows."""
        return {}

    def past(self, cluster: str, brokers: Sequence[int], now: datetime) -> Sequence[BrokerWindow]:
        """See Windows."""
        return ()

    def loads(self, cluster: str, now: datetime) -> Mapping[TopicPartition, Load]:
        """See Windows."""
        return {}


class LakeWindows:
    """Those of the lake at this path or URL, of `width_s` (60 or 300)."""

    def __init__(self, lake: str, width_s: int) -> None:
        self._lake, self._width_s = lake, width_s

    def recent(self, now: datetime) -> Mapping[str, Sequence[BrokerWindow]]:
        """See Windows."""
        from spark.metrics.latencies import recent_windows

        return self._read(lambda: recent_windows(self._lake, self._width_s, now=now), {})

    def past(self, cluster: str, brokers: Sequence[int], now: datetime) -> Sequence[BrokerWindow]:
        """See Windows."""
        from spark.metrics.latencies import past_windows

        return self._read(lambda: past_windows(self._lake, self._width_s, cluster, brokers, now=now), ())

    def loads(self, cluster: str, now: datetime) -> Mapping[TopicPartition, Load]:
        """See Windows."""
        rates = read_lake(self._lake, cluster, now)
        if rates.age_s is None or rates.age_s > OLDEST_S:
            _log.info("%s: %s", cluster, rates.reason)
            return {}
        told = rates.by_partition.items()
        return {TopicPartition(*name): Load(rate.write_bytes_per_s, rate.read_bytes_per_s) for name, rate in told}

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
