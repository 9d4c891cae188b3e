"""What is kept of the last look at a cluster's groups, as latest-value rows: all of it, and in short for the fleet."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import TypeAdapter

from controlplane.storage.latest_values import LatestStore, LatestValue, Subject, read_as, read_by_cluster
from events.ids import ClusterUid
from planner.consumers.history import LagPoint, with_point
from planner.consumers.reported import GroupsStatus, GroupStatus

GROUPS = "consumer-groups"
"""Kind of the row, one a cluster, with every group, member and partition of the last look."""
LAGS = "consumer-lags"
"""Kind of the row with how the lag of each group went, one a cluster: those of the last look alone."""
GROUPS_NOTED = "consumer-groups-noted"
"""Kind of the row with the same in short: read for the whole fleet at once."""

_SUBJECT = "groups"


@dataclass(frozen=True, slots=True)
class GroupNoted:
    """One group in short. `stuck` and `unread` name its partitions, a few of them; the counts are of all."""

    name: str
    word: str
    members: int
    partitions: int
    lag: int | None
    stuck: int = 0
    unread: int = 0
    named: tuple[str, ...] = ()
    since: datetime | None = None
    """Since when the first of those partitions is so."""


@dataclass(frozen=True, slots=True)
class GroupsNoted:
    """A cluster's groups in short. `asked_at`: when a person last asked for them."""

    at: datetime
    asked_at: datetime | None = None
    groups: tuple[GroupNoted, ...] = ()
    silent: tuple[int, ...] = ()
    left_out: int = 0

    @property
    def troubled(self) -> tuple[GroupNoted, ...]:
        """Groups with partitions that nobody reads, or nobody moves on in."""
        return tuple(g for g in self.groups if g.stuck or g.unread)


_STATUS: TypeAdapter[GroupsStatus] = TypeAdapter(GroupsStatus)
_NOTED: TypeAdapter[GroupsNoted] = TypeAdapter(GroupsNoted)
_NAMED = 5


def noted_of(status: GroupsStatus, asked_at: datetime | None) -> GroupsNoted:
    """The same in short."""
    return GroupsNoted(status.at, asked_at, tuple(_noted(g) for g in status.groups), status.silent, status.left_out)


def keep_groups(latest: LatestStore, uid: ClusterUid, status: GroupsStatus, asked_at: datetime | None) -> None:
    """Keeps a look. Raises StoreUnavailable."""
    before = kept_lags(latest, uid)
    lags = {
        g.name: with_point(before.get(g.name, ()), LagPoint(status.at, g.lag))
        for g in status.groups
        if g.lag is not None
    }
    rows = {
        GROUPS: _STATUS.dump_python(status, mode="json"),
        GROUPS_NOTED: _NOTED.dump_python(noted_of(status, asked_at), mode="json"),
        LAGS: {name: [[int(p.at.timestamp()), p.lag] for p in points] for name, points in lags.items()},
    }
    latest.put_all(
        [LatestValue(Subject(kind, uid, _SUBJECT), value, "kafka", status.at) for kind, value in rows.items()]
    )


def kept_groups(latest: LatestStore, uid: ClusterUid) -> GroupsStatus | None:
    """The last look. None where there was none, or another release wrote it. Raises StoreUnavailable."""
    row = latest.get(Subject(GROUPS, uid, _SUBJECT))
    return None if row is None else read_as(_STATUS, row)


def kept_lags(latest: LatestStore, uid: ClusterUid) -> Mapping[str, Sequence[LagPoint]]:
    """How the lag of each group went, oldest first. Empty where nothing is kept, or another release wrote it. Raises
    StoreUnavailable."""
    row = latest.get(Subject(LAGS, uid, _SUBJECT))
    try:
        return {name: [_point(p) for p in points] for name, points in dict(row.value).items()} if row else {}
    except (TypeError, ValueError, AttributeError):
        return {}


def _point(pair: Sequence[int]) -> LagPoint:
    seconds, lag = pair
    return LagPoint(datetime.fromtimestamp(seconds, UTC), lag)


def kept_note(latest: LatestStore, uid: ClusterUid) -> GroupsNoted | None:
    """The last look in short. As `kept_groups`."""
    row = latest.get(Subject(GROUPS_NOTED, uid, _SUBJECT))
    return None if row is None else read_as(_NOTED, row)


def notes_of(rows: Iterable[LatestValue]) -> dict[ClusterUid, GroupsNoted]:
    """Rows of `GROUPS_NOTED` by cluster; those another release wrote are left out."""
    return read_by_cluster(_NOTED, rows)


def _noted(group: GroupStatus) -> GroupNoted:
    bad = (*group.stuck, *group.unread)
    return GroupNoted(
        name=group.name,
        word=group.word,
        members=len(group.members),
        partitions=len(group.partitions),
        lag=group.lag,
        stuck=len(group.stuck),
        unread=len(group.unread),
        named=tuple(f"{p.topic}-{p.partition}" for p in bad[:_NAMED]),
        since=min((p.since for p in bad), default=None),
    )
