"""When disruption is welcome: weekly windows in the time of a place, and freezes. Pure: `now` is given, never read.

A window begins by the clock on the wall and lasts its duration in elapsed time, whatever the clocks do meanwhile:
- a start that clocks skip in spring is that much later by the new clock (02:30 becomes 03:30);
- a start that comes twice in autumn is the first of the two.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

WEEK = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
"""In the order of `date.weekday`."""

_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Window:
    """Opens at `start` (wall clock of `zone`, an IANA name) on these days of the week, for `lasts`; no day: daily."""

    start: time
    lasts: timedelta
    zone: str = "UTC"
    days: frozenset[str] = frozenset()

    def openings(self, since: datetime, until: datetime) -> Iterator[tuple[datetime, datetime]]:
        """Begin and end (UTC) of each opening that begins from `since` on and before `until`, in order.

        Raises UnknownZone.
        """
        zone = _zone(self.zone)
        day, last = since.astimezone(zone).date() - _DAY, until.astimezone(zone).date() + _DAY
        while day <= last:
            if not self.days or WEEK[day.weekday()] in self.days:
                begins = _instant(day, self.start, zone)
                if since <= begins < until:
                    yield begins, begins + self.lasts
            day += _DAY


class UnknownZone(LookupError):
    """This server's time-zone data has no such zone. What now: refuse; a person corrects it, or updates the data."""

    def __init__(self, name: str) -> None:
        super().__init__(f"time zone {name!r} is unknown to this server")
        self.name = name


def open_until(windows: Sequence[Window], now: datetime) -> datetime | None:
    """When what is open now closes (UTC), windows that follow without a gap included; None while all are closed.

    Looks a week ahead at most. Raises UnknownZone.
    """
    closes, horizon = _closes(windows, now), now + 7 * _DAY
    while closes is not None and closes < horizon:
        later = _closes(windows, closes)
        if later is None:
            break
        closes = later
    return closes


def open_at(windows: Sequence[Window], now: datetime) -> bool:
    """Whether any window is open; its first instant belongs to it, its last does not. Raises UnknownZone."""
    return open_until(windows, now) is not None


def next_opening(windows: Sequence[Window], now: datetime) -> datetime | None:
    """The first opening after `now` (UTC), also while one is open; None without windows. Raises UnknownZone."""
    soon = now + 8 * _DAY  # every window opens once a week
    after = [begin for w in windows for begin, _ in w.openings(now, soon) if begin > now]
    return min(after, default=None)


def next_chance(windows: Sequence[Window], freezes: Sequence["Freeze"], now: datetime) -> datetime | None:
    """The first moment, from `now` on, that lies in a window (any, where there are none) and in none of the freezes.

    None where that is further away than anybody can say. Raises UnknownZone.
    """
    at = now
    for _ in range(_MOST_STEPS):
        ends = [f.ends for f in freezes if f.begins <= at < f.ends]
        if NO_END in ends:
            return None
        if ends:
            at = max(ends)
        elif windows and not open_at(windows, at):
            opening = next_opening(windows, at)
            if opening is None:
                return None
            at = opening
        else:
            return at
    return None


NO_END = datetime.max.replace(tzinfo=UTC)
"""Of a freeze that lasts until something else is over."""

_MOST_STEPS = 100
"""Openings that freezes lie over before nobody looks any further."""


@dataclass(frozen=True, slots=True)
class Freeze:
    """From `begins` on and before `ends` nothing voluntary begins on the clusters it names; none named: on all.

    A cluster is named by its name, by its owner, or by labels, all of which it has to carry. `by` is who declared it,
    and `id` what it is thawed by; "" both for one of the settings. `silence`: notices wait meanwhile, but
    critical ones.
    """

    begins: datetime
    ends: datetime
    reason: str
    clusters: frozenset[str] = frozenset()
    owners: frozenset[str] = frozenset()
    labels: Mapping[str, str] = field(default_factory=dict)
    by: str = ""
    id: str = ""
    silence: bool = False

    @property
    def names_everything(self) -> bool:
        """Whether the whole fleet is meant."""
        return not (self.clusters or self.owners or self.labels)

    def names(self, cluster: str, owner: str, labels: Mapping[str, str]) -> bool:
        """Whether that cluster is meant."""
        if self.names_everything:
            return True
        labelled = bool(self.labels) and all(labels.get(k) == v for k, v in self.labels.items())
        return cluster in self.clusters or (bool(owner) and owner in self.owners) or labelled


def _closes(windows: Sequence[Window], now: datetime) -> datetime | None:
    """The latest end of the openings that `now` lies in."""
    near = ((begin, end) for w in windows for begin, end in w.openings(now - w.lasts, now + _DAY))
    return max((end for begin, end in near if begin <= now < end), default=None)


def _instant(day: date, start: time, zone: ZoneInfo) -> datetime:
    # fold=0: the first of two; and of a time that is skipped, the offset from before the clocks change (PEP 495).
    return datetime.combine(day, start, tzinfo=zone).replace(fold=0).astimezone(UTC)


@lru_cache(maxsize=1024)
def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError) as error:  # ZoneInfoNotFoundError is a KeyError; `Europe` is a folder
        raise UnknownZone(name) from error
