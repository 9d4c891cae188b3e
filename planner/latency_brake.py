"""The latency brake: how fast moves may go while their brokers serve clients, as a share of the planned rate. Pure.

The model is Cruise Control's concurrency adjuster: over a limit the share is halved, well below all of them for a while
it comes back in small steps. Between the two it stays, and what is not known moves it neither way.

Moves whose volumes nobody knows begin softly: with a part of the planned rate, doubled each time clients felt nothing
of the last step (TCP's slow start), so that the first thing clients feel is a small one.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum

FRESH = timedelta(seconds=30)
"""Figures older than this are not known any more."""

PRESSED, EASED = 0.5, 1.25
"""What the share is multiplied by, over a limit and well below all of them."""

CALM = 0.8
"""Of its limit: at and below it a figure is well below."""

PRESS_APART = timedelta(seconds=30)
"""So long after a change the next press: agents' figures are of the last 15 s, and have to be of after it."""

CALM_FOR = timedelta(seconds=60)
"""So long all figures have to be known and well below their limits, and so long after a change, for a step up."""

SOFT_STEP = 2.0
"""What the share is multiplied by while moves begin softly."""

SOFT_CALM_FOR = timedelta(seconds=15)
"""So long nobody has to feel a step of a soft beginning until the next: agents' figures are of the last 15 s."""

SOFT_MOST = timedelta(minutes=1)
"""Where nobody tells figures, the next step comes after so long: they say nothing against the planned rate either."""

RESERVOIR = timedelta(minutes=5)
"""How long a p99 of Kafka's may tell of what has passed: its decaying reservoir loses an old sample in that time."""


class Figure(StrEnum):
    """What clients feel, or are about to."""

    PRODUCE = "produce p99"
    QUEUE = "request queue"
    HANDLERS = "request handlers"
    DISK = "disk"
    LAG = "replica lag"
    MIN_ISR = "min ISR"


@dataclass(frozen=True, slots=True, kw_only=True)
class BrakeLimits:
    """`rise` is what any figure may reach of what it was before the moves, if that is more than its limit. A disk is
    over its limits when it is over both. `floor`: the least share.
    """

    rise: float = 1.5
    produce_p99_ms: float = 20.0
    request_queue: float = 100.0
    handlers_busy: float = 0.95
    disk_busy: float = 0.9
    disk_wait_ms: float = 50.0
    floor: float = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerLoad:
    """One broker as of `at`, None: not known. Shares are 0 to 1. `produce_p99_ms` is of the last minutes,
    `produce_mean_ms` of the last seconds.

    `lagging`: partitions it leads that no move is about, with a replica on a serving broker out of sync;
    `endangered`: those of them with no more replicas in sync than min ISR.
    """

    at: datetime
    produce_p99_ms: float | None = None
    produce_mean_ms: float | None = None
    request_queue: float | None = None
    handlers_busy: float | None = None
    disk_busy: float | None = None
    disk_wait_ms: float | None = None
    lagging: int = 0
    endangered: int = 0

    @property
    def has_figures(self) -> bool:
        """Whether its agent has told anything of it."""
        return any(v is not None for v in (self.produce_p99_ms, self.request_queue, self.handlers_busy, self.disk_busy))


@dataclass(frozen=True, slots=True)
class Strain:
    """One figure of one broker beside its limit. `is_of_now`: it tells nothing that has passed. `held_to`: how far it
    is over its limit at most, by another figure that has to be over its own too."""

    broker: int
    figure: Figure
    value: float
    limit: float
    before: float | None = None
    is_of_now: bool = True
    held_to: float = math.inf

    @property
    def ratio(self) -> float:
        return min(self.value / self.limit, self.held_to)

    def __str__(self) -> str:
        before = f", {_words(self.figure, self.before)} before the moves" if self.before is not None else ""
        if self.figure in (Figure.LAG, Figure.MIN_ISR):
            return f"{_words(self.figure, self.value)} of broker {self.broker}{before}"
        limit = _words(self.figure, self.limit)
        return f"{self.figure} of broker {self.broker} is {_words(self.figure, self.value)}, limit {limit}{before}"


@dataclass(frozen=True, slots=True)
class BrakeState:
    """`share` of the planned rate, since `changed_at` (None: it was always so). `is_soft`: moves have begun with a part
    of it, and nothing has been over a limit since."""

    share: float = 1.0
    changed_at: datetime | None = None
    is_soft: bool = False


@dataclass(frozen=True, slots=True)
class Judgement:
    """`share` from now on. `worst`: what is over its limit most. `unknown`: brokers nothing fresh is known of."""

    share: float
    worst: Strain | None = None
    unknown: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Concerned:
    """Brokers that moves read from, write to or make lead: `loads` of each, oldest first, and what they were `before`
    the moves, as far as that is known."""

    loads: Mapping[int, Sequence[BrokerLoad]]
    before: Mapping[int, BrokerLoad] = field(default_factory=dict)

    def tells(self, broker: int) -> bool:
        """Whether its agent has ever told figures. One that is too old, or reads none, is not waited for: Kafka's
        metadata alone says how that broker is."""
        return broker in self.before or any(load.has_figures for load in self.loads[broker])


_UNTOLD = BrokerLoad(at=datetime.min.replace(tzinfo=UTC))
"""What a broker was before of which nothing was known."""


def judged(state: BrakeState, seen: Concerned, limits: BrakeLimits, now: datetime) -> Judgement:
    """The share that is due: never above 1, nor below the floor unless it is there already."""
    newest = {b: looks[-1] for b, looks in seen.loads.items() if looks and now - looks[-1].at <= FRESH}
    silent = (b for b in seen.loads if b not in newest or (seen.tells(b) and not newest[b].has_figures))
    unknown = tuple(sorted(silent))
    over = [s for b, load in newest.items() for s in strains(b, load, seen.before, limits) if s.ratio > 1]
    worst = max(over, key=lambda s: (s.figure is Figure.MIN_ISR, s.ratio, -s.broker), default=None)
    if worst is not None:
        return Judgement(_pressed(state, over, newest, limits, now), worst, unknown)
    if state.share < 1 and _may_rise(state, seen, unknown, limits, now):
        return Judgement(min(1.0, state.share * (SOFT_STEP if state.is_soft else EASED)), None, unknown)
    return Judgement(state.share, None, unknown)


def strains(broker: int, load: BrokerLoad, before: Mapping[int, BrokerLoad], limits: BrakeLimits) -> Iterator[Strain]:
    """Each figure that is known of a broker beside its limit."""
    was = before.get(broker, _UNTOLD)
    produce = _produce(broker, load, before, limits)
    if produce is not None:
        yield produce
    if load.request_queue is not None:
        yield _strain(broker, Figure.QUEUE, load.request_queue, limits.request_queue, was.request_queue, limits)
    if load.handlers_busy is not None:
        most = limits.handlers_busy
        yield _strain(broker, Figure.HANDLERS, load.handlers_busy, most, was.handlers_busy, limits)
    if load.disk_busy is not None and load.disk_wait_ms is not None:
        waits = load.disk_wait_ms / max(limits.disk_wait_ms, limits.rise * (was.disk_wait_ms or 0.0))
        disk = _strain(broker, Figure.DISK, load.disk_busy, limits.disk_busy, was.disk_busy, limits)
        yield replace(disk, held_to=waits)
    lagging = load.lagging - was.lagging
    if lagging > 0:
        yield Strain(broker, Figure.LAG, lagging, 0.5)
    if lagging > 0 and load.endangered > was.endangered:
        yield Strain(broker, Figure.MIN_ISR, load.endangered, 0.5)


def _produce(broker: int, load: BrokerLoad, before: Mapping[int, BrokerLoad], limits: BrakeLimits) -> Strain | None:
    """What is normal differs from cluster to cluster: without a figure of before nothing is said. That of a broker that
    was not produced to is the highest of the others."""
    if load.produce_p99_ms is None:
        return None
    own = before.get(broker)
    if own is None or own.produce_p99_ms is None:
        known = [b for b in before.values() if b.produce_p99_ms is not None]
        own = max(known, key=lambda b: b.produce_p99_ms or 0.0, default=None)
    if own is None or not own.produce_p99_ms:
        return None
    limit = max(limits.produce_p99_ms, limits.rise * own.produce_p99_ms)
    mean, was = load.produce_mean_ms, own.produce_mean_ms
    # Tails rise more than means: half of what the limit lets a p99 rise is enough to believe that it is over it now.
    is_of_now = mean is None or was is None or mean > was * (1 + limit / own.produce_p99_ms) / 2
    return Strain(broker, Figure.PRODUCE, load.produce_p99_ms, limit, own.produce_p99_ms, is_of_now)


def _strain(
    broker: int, figure: Figure, value: float, limit: float, before: float | None, limits: BrakeLimits
) -> Strain:
    return Strain(broker, figure, value, max(limit, limits.rise * (before or 0.0)), before)


def _pressed(
    state: BrakeState, over: Iterable[Strain], newest: Mapping[int, BrokerLoad], limits: BrakeLimits, now: datetime
) -> float:
    """Half of it, once what is over its limit tells of the time after the last change. Where min ISR is in danger the
    floor at once."""
    least = min(state.share, limits.floor)
    if any(s.figure is Figure.MIN_ISR for s in over):
        return least
    changed = state.changed_at
    if changed is not None and not state.is_soft:  # of a step up nothing is waited for: it was made to see this
        if now - changed < PRESS_APART:
            return state.share
        of_after = [s for s in over if newest[s.broker].at - changed >= PRESS_APART / 2]
        if not any(s.is_of_now or now - changed >= RESERVOIR for s in of_after):
            return state.share
    return max(least, state.share * PRESSED)


def _may_rise(state: BrakeState, seen: Concerned, unknown: tuple[int, ...], limits: BrakeLimits, now: datetime) -> bool:
    if not unknown:
        return _is_calm(state, seen, limits, now)
    return state.is_soft and (state.changed_at is None or now - state.changed_at >= SOFT_MOST)


def _is_calm(state: BrakeState, seen: Concerned, limits: BrakeLimits, now: datetime) -> bool:
    """Whether every broker has been known, and well below its limits, for a while since the last change."""
    since = now - (SOFT_CALM_FOR if state.is_soft else CALM_FOR)
    if state.changed_at is not None and state.changed_at > since:
        return False
    for broker, looks in seen.loads.items():
        recent = [load for load in looks if load.at >= since]
        if not recent or looks[0].at > since or not _is_unbroken([*(x.at for x in recent), now], since):
            return False
        tells = seen.tells(broker)
        if any((tells and not load.has_figures) or _reaches(broker, load, seen.before, limits) for load in recent):
            return False
    return True


def _is_unbroken(times: Sequence[datetime], since: datetime) -> bool:
    """Whether no two of them are further apart than figures are fresh."""
    return all(later - earlier <= FRESH for earlier, later in zip([since, *times], times, strict=False))


def _reaches(broker: int, load: BrokerLoad, before: Mapping[int, BrokerLoad], limits: BrakeLimits) -> bool:
    return any(s.ratio > CALM for s in strains(broker, load, before, limits))


def _words(figure: Figure, value: float) -> str:
    match figure:
        case Figure.PRODUCE:
            return f"{value:.0f} ms"
        case Figure.HANDLERS | Figure.DISK:
            return f"{value:.0%} busy"
        case Figure.LAG:
            return f"{value:.0f} partitions with a replica out of sync that does not move"
        case Figure.MIN_ISR:
            return f"{value:.0f} partitions with no more replicas in sync than min ISR"
        case _:
            return f"{value:.0f}"
