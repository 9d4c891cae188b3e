"""Which brokers are slow: by several latencies, against their peers in the same window and their own past. Pure.

As Cruise Control's SlowBrokerFinder: a broker is slow in a window when a latency is above a floor, above 3 x the 90th
percentile of its own past and above 3 x the median of its peers. Here at least two latencies have to agree, and the
broker has to be slow in several windows: one long collection of garbage is no slow broker.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from statistics import median
from types import MappingProxyType

FLOORS_MS: Mapping[str, float] = MappingProxyType(
    {
        "log_flush_p99_ms": 100.0,
        "produce_local_p99_ms": 20.0,
        "fetch_local_p99_ms": 20.0,
        "follower_local_p99_ms": 20.0,
        "request_queue_p99_ms": 20.0,
    }
)
"""The latencies that are judged, in ms. What is below its floor is fast enough, whatever the others do."""


@dataclass(frozen=True, slots=True)
class BrokerWindow:
    """Means of one broker over one closed window. A figure that is not known is absent."""

    broker: int
    start: datetime
    end: datetime
    started: datetime | None
    completeness: float
    figures: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowRule:
    """When a broker counts as slow. `begins` of the last `samples` windows make it so; it is over when none of them is.

    `warm_up`: for so long after its start a broker is judged by nobody and judges nobody: caches are cold, replicas
    catch up. `least_past`: fewer windows of its own are no past.
    """

    peers_margin: float = 3.0
    past_margin: float = 3.0
    past_percentile: float = 0.90
    agreeing: int = 2
    samples: int = 3
    begins: int = 2
    least_peers: int = 2
    least_past: int = 12
    past: timedelta = timedelta(hours=24)
    warm_up: timedelta = timedelta(minutes=15)
    least_completeness: float = 0.6
    oldest: timedelta = timedelta(minutes=30)
    """Windows that ended longer ago say nothing about now."""
    most_fraction: float = 0.1
    """With more brokers slow at once (but always one) the cause is none of them."""
    floors_ms: Mapping[str, float] = field(default_factory=lambda: FLOORS_MS)


@dataclass(frozen=True, slots=True)
class Excess:
    """One latency of one window that is beyond, with what it was held against, in ms."""

    figure: str
    value_ms: float
    peers_ms: float
    past_ms: float

    @property
    def sentence(self) -> str:
        return f"{self.figure} {self.value_ms:.0f} (peers {self.peers_ms:.0f}, its own past {self.past_ms:.0f})"


@dataclass(frozen=True, slots=True)
class SlowBroker:
    """A broker that is slow, with the numbers of the newest window in which it was."""

    broker: int
    windows: int
    of: int
    at: datetime
    excesses: tuple[Excess, ...]

    @property
    def sentence(self) -> str:
        sentences = "; ".join(e.sentence for e in self.excesses)
        return f"broker {self.broker} was slow in {self.windows} of the last {self.of} windows, in ms: {sentences}"


def suspects(recent: Sequence[BrokerWindow], now: datetime, rule: SlowRule | None = None) -> frozenset[int]:
    """Brokers beyond their peers in one of the last windows: only their past has to be read."""
    rule = rule or SlowRule()
    return frozenset(
        one.broker
        for start in _starts(recent, now, rule)
        for one in _settled(recent, start, rule)
        if len(_beyond_peers(one, _settled(recent, start, rule), rule)) >= rule.agreeing
    )


def slow_brokers(
    recent: Sequence[BrokerWindow],
    past: Iterable[BrokerWindow],
    now: datetime,
    *,
    known: Collection[int] = (),
    rule: SlowRule | None = None,
) -> tuple[SlowBroker, ...] | None:
    """The slow ones by id; `known` were slow before and stay so until none of the last windows says it. None where no
    window is young enough to say anything. `recent` and `past` are of one cluster and one width; `past` may hold
    `recent` too.
    """
    rule = rule or SlowRule()
    starts = _starts(recent, now, rule)
    if not starts:
        return None
    before = [w for w in past if w.start < starts[0] and w.start >= starts[0] - rule.past]
    slow: dict[int, list[tuple[datetime, tuple[Excess, ...]]]] = {}
    for start in starts:
        there = _settled(recent, start, rule)
        for one in there:
            found = _beyond_past(_beyond_peers(one, there, rule), one.broker, before, rule)
            if len(found) >= rule.agreeing:
                slow.setdefault(one.broker, []).append((start, tuple(found)))
    return tuple(
        SlowBroker(broker, len(times), len(starts), times[-1][0], times[-1][1])
        for broker, times in sorted(slow.items())
        if len(times) >= (1 if broker in known else min(rule.begins, rule.samples))
    )


def too_many(slow: int, brokers: int, rule: SlowRule | None = None) -> bool:
    """Whether so many are slow at once that none of them is the cause: demoting them would only move the load."""
    rule = rule or SlowRule()
    return slow > max(1, int(brokers * rule.most_fraction))


def _starts(recent: Sequence[BrokerWindow], now: datetime, rule: SlowRule) -> list[datetime]:
    young = {w.start for w in recent if now - w.end <= rule.oldest}
    return sorted(young)[-rule.samples :]


def _settled(windows: Iterable[BrokerWindow], start: datetime, rule: SlowRule) -> list[BrokerWindow]:
    return [w for w in windows if w.start == start and _is_settled(w, rule)]


def _is_settled(window: BrokerWindow, rule: SlowRule) -> bool:
    warm = window.started is None or window.start >= window.started + rule.warm_up
    return warm and window.completeness >= rule.least_completeness


def _beyond_peers(one: BrokerWindow, there: Sequence[BrokerWindow], rule: SlowRule) -> dict[str, tuple[float, float]]:
    """Figure -> (value, median of the peers), of those beyond floor and peers."""
    beyond = {}
    for figure, floor in rule.floors_ms.items():
        value = one.figures.get(figure)
        peers = [w.figures[figure] for w in there if w.broker != one.broker and figure in w.figures]
        if value is None or value < floor or len(peers) < rule.least_peers:
            continue
        middle = median(peers)
        if value >= rule.peers_margin * middle:
            beyond[figure] = (value, middle)
    return beyond


def _beyond_past(
    beyond: Mapping[str, tuple[float, float]], broker: int, past: Sequence[BrokerWindow], rule: SlowRule
) -> list[Excess]:
    own = [w for w in past if w.broker == broker and _is_settled(w, rule)]
    found = []
    for figure, (value, peers) in sorted(beyond.items()):
        values = sorted(w.figures[figure] for w in own if figure in w.figures)
        if len(values) < rule.least_past:
            continue
        high = values[min(len(values) - 1, int(rule.past_percentile * len(values)))]
        if value >= rule.past_margin * high:
            found.append(Excess(figure, value, peers, high))
    return found
