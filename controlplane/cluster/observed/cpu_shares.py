"""What brokers use of their processors, as a latest-value row a cluster: the look at metrics writes it, ticks read it.

It may be lost: the next look brings it back.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from pydantic import TypeAdapter

from controlplane.storage.latest_values import LatestStore, LatestValue, Subject, read_by_cluster
from events.ids import ClusterUid

CPU_NOTED = "broker-cpu"
"""Kind of the row."""
YOUNG = timedelta(minutes=10)
"""Older shares say nothing about now: the look at metrics stands still."""

_SUBJECT = "cpu"


@dataclass(frozen=True, slots=True)
class CpuNoted:
    """By broker id, the share of its processors it uses, 0 to 1: the mean of the windows of the last half hour."""

    at: datetime
    used: Mapping[int, float]

    def young(self, now: datetime) -> Mapping[int, float]:
        """The shares, none where they are too old."""
        return self.used if now - self.at <= YOUNG else {}


_NOTED: TypeAdapter[CpuNoted] = TypeAdapter(CpuNoted)


def keep_cpu(latest: LatestStore, uid: ClusterUid, noted: CpuNoted) -> None:
    """Raises StoreUnavailable."""
    value = _NOTED.dump_python(noted, mode="json")
    latest.put_all([LatestValue(Subject(CPU_NOTED, uid, _SUBJECT), value, "metrics", noted.at)])


def cpu_of(rows: Iterable[LatestValue]) -> dict[ClusterUid, CpuNoted]:
    """Rows of `CPU_NOTED` by cluster; those another release wrote are left out until they are written anew."""
    return read_by_cluster(_NOTED, rows)
