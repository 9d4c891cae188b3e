"""Whether what is written to a topic is in its band, declared or learned: records per second, by Kafka's own offsets.

A rate is of one window of some minutes, over all partitions. It takes three windows in a row on the same side to be
outside, and three inside to be back: a burst that is no longer than a window touches two. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from planner.broker_answers import TopicLogs
from planner.quantities import human_seconds

WINDOW = timedelta(minutes=5)
LONGEST = 2 * WINDOW
"""Two looks further apart tell a mean of more than what is judged."""
OLDEST = 5 * WINDOW
"""A window that ended longer ago says nothing about now."""
AGREEING = 3

_MARK = " (rate)"
"""No topic has a blank in its name."""


@dataclass(frozen=True, slots=True)
class Band:
    """Records per second, both ends inside. None: there is no such end."""

    least: float | None
    most: float | None

    @property
    def words(self) -> str:
        if self.least is None:
            return f"at most {self.most:g}/s"
        return f"at least {self.least:g}/s" if self.most is None else f"{self.least:g} to {self.most:g}/s"

    @property
    def description(self) -> str:
        """Whose band it is, and which."""
        return f"the declared {self.words}"

    def side(self, per_s: float) -> "Side":
        """Where a rate stands."""
        if self.least is not None and per_s < self.least:
            return Side.BELOW
        return Side.ABOVE if self.most is not None and per_s > self.most else Side.INSIDE


ENDLESS = Band(None, None)
"""Any rate is inside: where nothing is known that it could be outside of."""


@dataclass(frozen=True, slots=True)
class RateSeen:
    """The rate of one window: its end, its length, records per second. `band`: what was learned for its hour, None
    where nothing is to be learned, or that hour is not judged."""

    at: datetime
    seconds: float
    per_s: float
    band: Band | None = None


class Side(Enum):
    """Where the rates of the last windows stand."""

    BELOW = "below"
    INSIDE = "inside"
    ABOVE = "above"


def rate_between(before: TopicLogs, after: TopicLogs) -> RateSeen | None:
    """What was written between two looks. None where it cannot be told: they are too far apart or at one time, not
    every partition was told of, or a log is another one than it was (a topic made anew, a partition added)."""
    seconds = (after.at - before.at).total_seconds()
    if not 0 < seconds <= LONGEST.total_seconds() or before.left_out or after.left_out:
        return None
    if not after.partitions or before.partitions.keys() != after.partitions.keys():
        return None
    written = 0
    for partition, bounds in after.partitions.items():
        old, new = before.partitions[partition].end, bounds.end
        if old is None or new is None or new < old:
            return None
        written += new - old
    return RateSeen(after.at, seconds, written / seconds)


def side_of(rates: Sequence[RateSeen], band: Band | None, now: datetime, *, was_outside: bool = False) -> Side | None:
    """By the newest windows, oldest first, each in its own band where `band` is None. None where too few are young
    enough or have a band, or they disagree: what was outside is so until all of them are inside, what was not is not
    until all are outside on one side."""
    young = [r for r in rates if now - r.at <= OLDEST][-AGREEING:]
    if len(young) < AGREEING:
        return None
    judged_by = [(r.per_s, band or r.band) for r in young]
    sides = {by.side(per_s) if by is not None else None for per_s, by in judged_by}
    if len(sides) == 1:
        return sides.pop()
    return None if was_outside or None in sides else Side.INSIDE


def reason_of(topic: str, side: Side, rates: Sequence[RateSeen], band: Band | None) -> str:
    """The numbers, for people."""
    last = rates[-AGREEING:]
    whose = (band or last[-1].band or ENDLESS).description
    description = ", ".join(f"{r.per_s:.1f}/s" for r in last)
    span = human_seconds(round(sum(r.seconds for r in last)))
    return f"{topic} takes {description} in the last {span}, {side.value} {whose} (records, by Kafka's offsets)"


def rate_subject(topic: str) -> str:
    """What an anomaly of a topic's rate is about; one of the topic itself is about its name."""
    return f"{topic}{_MARK}"


def topic_of_rate(subject: str) -> str | None:
    """The topic, None where the anomaly is not about a rate."""
    return subject.removesuffix(_MARK) if subject.endswith(_MARK) else None
