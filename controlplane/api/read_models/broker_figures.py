"""What brokers did of late, as the metric lake has it: the newest minute of each, and the traffic of all. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from controlplane.api.read_models.roll_stages import Roll
from controlplane.cluster.observed.broker_traffic import TrafficPoint
from planner.anomalies.slow import BrokerWindow

SHOWN = timedelta(hours=6)
FRESH = timedelta(minutes=20)
"""A broker without a window for so long has no newest figures: those before say nothing of now."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One broker in the minute that began `at`. `figures` by the names of docs/metrics.md; unknown ones are absent."""

    broker: int
    at: datetime
    figures: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RollMark:
    """A step of a roll that began or ended then."""

    at: datetime
    words: str


def newest(windows: Sequence[BrokerWindow], now: datetime) -> dict[int, Measured]:
    """By broker, its newest minute, where that is young."""
    found: dict[int, Measured] = {}
    for window in sorted(windows, key=lambda w: w.start):
        if now - window.end <= FRESH:
            found[window.broker] = Measured(window.broker, window.start, window.figures)
    return found


def traffic(windows: Sequence[BrokerWindow], recent: Sequence[TrafficPoint]) -> tuple[TrafficPoint, ...]:
    """The sums of each minute of the lake, oldest first, and what agents told since the newest of them."""
    by_minute: dict[datetime, list[BrokerWindow]] = {}
    for window in windows:
        by_minute.setdefault(window.start, []).append(window)
    minutes = [
        TrafficPoint(at, _sum(of, "nic_in_bytes_per_s"), _sum(of, "nic_out_bytes_per_s"))
        for at, of in sorted(by_minute.items())
    ]
    until = max((window.end for window in windows), default=None)
    return (*minutes, *(point for point in recent if until is None or point.at >= until))


def roll_marks(roll: Roll, since: datetime) -> tuple[RollMark, ...]:
    """The beginning and end of the roll, and when each of its nodes was done, as far as that is shown."""
    told = [
        (roll.began_at, f"roll to generation {roll.generation} begins"),
        *((node.done_at, f"{node.node}: {node.change} done") for node in roll.nodes.values()),
        (roll.ended_at, "the roll is aborted" if roll.aborted else "the roll ends"),
    ]
    marks = [RollMark(at, words) for at, words in told if at is not None and at >= since]
    return tuple(sorted(marks, key=lambda mark: mark.at))


def _sum(windows: Sequence[BrokerWindow], figure: str) -> float | None:
    values = [window.figures.get(figure) for window in windows]
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
