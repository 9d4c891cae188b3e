"""Which brokers are hot: far more CPU or traffic than their peers and than they had before, for long enough. Pure.

A slow broker is unhealthy by its latencies (`planner.anomalies.slow`); a hot one is well and has too much to do. What
is judged is a share of what the machine has, where that is known: of its processors always, of its network where the
catalogue has the figure.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from planner.anomalies.slow import BrokerWindow
from planner.quantities import human_bytes

CPU, BYTES_IN, BYTES_OUT = "cpu", "nic_in_bytes_per_s", "nic_out_bytes_per_s"
FIGURES = (CPU, BYTES_IN, BYTES_OUT)
"""CPU as share of the machine, 0 to 1; Kafka's traffic of clients and replication, bytes/s."""
WORDS: Mapping[str, str] = {CPU: "CPU", BYTES_IN: "bytes in", BYTES_OUT: "bytes out"}


@dataclass(frozen=True, slots=True, kw_only=True)
class HotRule:
    """When a broker counts as hot: in windows of at least `long_enough`, of those that ended within `span` before the
    newest one; over when it is so in none of them.

    What is known to be hot is held against its peers alone: its own past becomes as hot while it lasts.
    """

    busy_fraction: float = 0.6
    """Of the machine, or of its network: below that a broker has room, whatever the others do."""
    busy_bytes_per_s: float = 32 * 1024**2
    """In place of that where nobody knows what the network carries."""
    peers_margin: float = 1.5
    past_margin: float = 1.5
    past_percentile: float = 0.90
    least_peers: int = 2
    least_past: timedelta = timedelta(hours=1)
    past: timedelta = timedelta(hours=24)
    span: timedelta = timedelta(minutes=25)
    long_enough: timedelta = timedelta(minutes=20)
    warm_up: timedelta = timedelta(minutes=15)
    least_completeness: float = 0.6
    oldest: timedelta = timedelta(minutes=15)
    """Where no window ended since, nothing is known of now."""

    def busy_from(self, figure: str, limit: float | None) -> float:
        """From where on a figure is much. `limit`: what the network carries, bytes/s, None where nobody knows."""
        if figure == CPU:
            return self.busy_fraction
        return self.busy_fraction * limit if limit else self.busy_bytes_per_s


@dataclass(frozen=True, slots=True)
class Heat:
    """One figure that is beyond, in its newest window. `limit`: of the network, bytes/s, None where it is unknown.
    `past`: the 90th percentile of its own last day, None where too little of it is known, as of one hot already."""

    figure: str
    value: float
    limit: float | None
    peers: float
    past: float | None

    @property
    def sentence(self) -> str:
        share = ""
        if self.figure != CPU and self.limit:
            share = f", {self.value / self.limit:.0%} of its network's {human_bytes(self.limit)}/s"
        past = f", its own past {_figure_text(self.figure, self.past)}" if self.past is not None else ""
        figure = _figure_text(self.figure, self.value)
        return f"{WORDS[self.figure]} {figure}{share} (peers {_figure_text(self.figure, self.peers)}{past})"


@dataclass(frozen=True, slots=True)
class HotBroker:
    """A broker that is hot, for how many minutes of the last ones, with the figures of the newest such window, which
    ended `at`."""

    broker: int
    minutes: int
    of_minutes: int
    at: datetime
    heats: tuple[Heat, ...]

    @property
    def sentence(self) -> str:
        sentences = "; ".join(heat.sentence for heat in self.heats)
        return f"broker {self.broker} was hot in {self.minutes} of the last {self.of_minutes} min: {sentences}"


Limits = Mapping[int, int]
"""By broker, what its network carries one way, bytes/s; of one that is not in it nobody knows."""


def hot_suspects(recent: Sequence[BrokerWindow], limits: Limits, now: datetime, rule: HotRule) -> frozenset[int]:
    """Brokers far beyond their peers in the newest windows: only their past has to be read."""
    there = _span(recent, now, rule)
    return frozenset(one.broker for windows in there.values() for one in windows if _beyond(one, windows, limits, rule))


def hot_brokers(
    recent: Sequence[BrokerWindow],
    past: Iterable[BrokerWindow],
    limits: Limits,
    now: datetime,
    *,
    known: Collection[int] = (),
    rule: HotRule | None = None,
) -> tuple[HotBroker, ...] | None:
    """The hot ones by id; `known` were hot before and stay so until no window of the span says it. None where no window
    is young enough to say anything. `recent` and `past` are of one cluster and one width; `past` may hold `recent` too.
    """
    rule = rule or HotRule()
    spanned = _span(recent, now, rule)
    if not spanned:
        return None
    first, width = min(spanned), next(w.end - w.start for ws in spanned.values() for w in ws)
    before = [w for w in past if first - rule.past <= w.start < first and _settled(w, rule)]
    hot: dict[int, list[tuple[datetime, tuple[Heat, ...]]]] = {}
    for _, windows in sorted(spanned.items()):
        for one in windows:
            beyond = _beyond(one, windows, limits, rule)
            if one.broker not in known:
                beyond = _beyond_past(beyond, [w for w in before if w.broker == one.broker], width, rule)
            if beyond:
                hot.setdefault(one.broker, []).append((one.end, beyond))
    return tuple(
        HotBroker(broker, _minutes(len(found) * width), _minutes(len(spanned) * width), *found[-1])
        for broker, found in sorted(hot.items())
        if broker in known or len(found) * width >= rule.long_enough
    )


def _span(recent: Sequence[BrokerWindow], now: datetime, rule: HotRule) -> dict[datetime, list[BrokerWindow]]:
    """Windows that count, by their start; none where the newest is too old."""
    newest = max((w.end for w in recent), default=None)
    if newest is None or now - newest > rule.oldest:
        return {}
    found: dict[datetime, list[BrokerWindow]] = {}
    for window in recent:
        if newest - window.end < rule.span and _settled(window, rule):
            found.setdefault(window.start, []).append(window)
    return found


def _settled(window: BrokerWindow, rule: HotRule) -> bool:
    warm = window.started is None or window.start >= window.started + rule.warm_up
    return warm and window.completeness >= rule.least_completeness


def _beyond(one: BrokerWindow, there: Sequence[BrokerWindow], limits: Limits, rule: HotRule) -> tuple[Heat, ...]:
    """Its figures that are much and far over its peers: as shares of their networks where all of those are known, so
    that a large machine that carries more is not hot by it."""
    found = []
    for figure in FIGURES:
        value, limit = one.figures.get(figure), limits.get(one.broker)
        peers = [w for w in there if w.broker != one.broker and figure in w.figures]
        if value is None or value < rule.busy_from(figure, limit) or len(peers) < rule.least_peers:
            continue
        scale = 1.0
        if figure != CPU and limit and all(w.broker in limits for w in peers):
            middle, scale = median(w.figures[figure] / limits[w.broker] for w in peers), float(limit)
        else:
            middle = median(w.figures[figure] for w in peers)
        if value >= rule.peers_margin * middle * scale:
            found.append(Heat(figure, value, limit if figure != CPU else None, middle * scale, None))
    return tuple(found)


def _beyond_past(
    heats: Sequence[Heat], own: Sequence[BrokerWindow], width: timedelta, rule: HotRule
) -> tuple[Heat, ...]:
    found = []
    for heat in heats:
        values = sorted(w.figures[heat.figure] for w in own if heat.figure in w.figures)
        if len(values) * width < rule.least_past:
            continue
        high = values[min(len(values) - 1, int(rule.past_percentile * len(values)))]
        if heat.value >= rule.past_margin * high:
            found.append(Heat(heat.figure, heat.value, heat.limit, heat.peers, high))
    return tuple(found)


def _minutes(span: timedelta) -> int:
    return round(span.total_seconds() / 60)


def _figure_text(figure: str, value: float) -> str:
    return f"{value:.0%}" if figure == CPU else f"{human_bytes(value)}/s"
