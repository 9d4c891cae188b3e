"""What is to be done about a hot broker, as a latest-value row a cluster: the look at metrics writes it, ticks read it.

It is advice and may be lost: the next look brings it back. A tick holds each list against the metadata of its own.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from pydantic import TypeAdapter

from controlplane.storage.latest_values import LatestStore, LatestValue, Subject, read_by_cluster
from events.ids import ClusterUid

HOT_NOTED = "hot-brokers"
"""Kind of the row."""
YOUNG = timedelta(minutes=5)
"""Older advice is not followed: the look at metrics stands still, or found that nothing is hot any more."""

_SUBJECT = "hot"


@dataclass(frozen=True, slots=True)
class ListNoted:
    """One replica list that is to have another order."""

    topic: str
    partition: int
    before: tuple[int, ...]
    after: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class HotNoted:
    """The advice of one look. `spread`: leadership is no cure, replicas have to move, and the spec has that done."""

    at: datetime
    reason: str
    lists: tuple[ListNoted, ...] = ()
    spread: bool = False


_NOTED: TypeAdapter[HotNoted] = TypeAdapter(HotNoted)


def keep_hot(latest: LatestStore, uid: ClusterUid, noted: HotNoted) -> None:
    """Raises StoreUnavailable."""
    value = _NOTED.dump_python(noted, mode="json")
    latest.put_all([LatestValue(Subject(HOT_NOTED, uid, _SUBJECT), value, "metrics", noted.at)])


def hot_of(rows: Iterable[LatestValue]) -> dict[ClusterUid, HotNoted]:
    """Rows of `HOT_NOTED` by cluster; those another release wrote are left out until they are written anew."""
    return read_by_cluster(_NOTED, rows)
