"""What may be led by others so that a hot broker is none any more, and nobody else becomes one. Pure.

Leadership alone, by the order of replica lists: not a byte is copied. What a leader sends goes with it (to consumers,
and to followers: write x (replicas - 1)); what it receives does not, since a follower receives the same writes. So
bytes in are a matter of replicas, and so is what no peer could lead without becoming hot itself.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from planner.anomalies.hot import BYTES_IN, BYTES_OUT, CPU, WORDS, HotBroker, HotRule, Limits
from planner.demotion import Orders
from planner.heartbeats import HEARTBEAT_TOPIC
from planner.observed import KafkaSnapshot, PartitionSeen, TopicPartition
from planner.quantities import human_bytes

MOST_AT_A_TIME = 100
"""Lists in one batch; what is left is forecast anew from windows that began after it."""
ROOM = 0.8
"""No peer is brought nearer to being hot than this, by what is forecast of it."""
LEAST_GAIN = 0.05
"""Share of its figure below which it is not worth that clients look for leaders anew."""


@dataclass(frozen=True, slots=True)
class Load:
    """What clients write to a partition and read from it, bytes/s."""

    write_bytes_per_s: float
    read_bytes_per_s: float


@dataclass(frozen=True, slots=True)
class Forecast:
    """One figure of the hot broker, now and once others lead."""

    figure: str
    now: float
    then: float

    @property
    def sentence(self) -> str:
        if self.figure == CPU:
            return f"{WORDS[self.figure]} {self.now:.0%} -> {self.then:.0%}"
        return f"{WORDS[self.figure]} {human_bytes(self.now)}/s -> {human_bytes(self.then)}/s"


@dataclass(frozen=True, slots=True)
class Cooling:
    """Lists in another order, and what is forecast of it; or, without any, why leadership is no cure."""

    broker: int
    orders: Orders = field(default_factory=dict)
    forecasts: tuple[Forecast, ...] = ()
    why_not: str = ""

    @property
    def sentence(self) -> str:
        if not self.orders:
            return self.why_not
        forecasts = ", ".join(f.sentence for f in self.forecasts)
        return f"others lead {len(self.orders)} partitions of broker {self.broker}: {forecasts}"


def cooling(
    kafka: KafkaSnapshot,
    hot: HotBroker,
    figures: Mapping[int, Mapping[str, float]],
    loads: Mapping[TopicPartition, Load],
    limits: Limits,
    takers: Collection[int],
    *,
    rule: HotRule | None = None,
    most: int = MOST_AT_A_TIME,
) -> Cooling:
    """The fewest lists that bring the broker among its peers again, the heaviest first.

    `figures`: by broker, the means of the newest window; a broker of which they are not known takes nothing, and a
    partition of which no load is known stays. `takers`: brokers that may lead. Only replicas in sync do.
    """
    beyond = [h.figure for h in hot.heats if h.figure != BYTES_IN]
    if not beyond:
        return Cooling(hot.broker, why_not="a follower receives what a leader does, so only moved replicas change it")
    search = _Search(kafka, hot, figures, loads, limits, takers, rule or HotRule())
    return search.cooled(beyond, most)


class _Search:
    """What each broker is forecast to bear while leaders are handed over one after the other."""

    def __init__(
        self,
        kafka: KafkaSnapshot,
        hot: HotBroker,
        figures: Mapping[int, Mapping[str, float]],
        loads: Mapping[TopicPartition, Load],
        limits: Limits,
        takers: Collection[int],
        rule: HotRule,
    ) -> None:
        self._kafka, self._hot, self._loads, self._limits, self._rule = kafka, hot, loads, limits, rule
        known = {b: f for b, f in figures.items() if CPU in f and BYTES_OUT in f}
        self._bears = {b: {CPU: f[CPU], BYTES_OUT: f[BYTES_OUT]} for b, f in known.items()}
        self._cpu_per_byte = {b: _cpu_per_byte(f) for b, f in known.items()}
        live = kafka.live_brokers()
        self._takers = {b for b in takers if b in known and b in live and b != hot.broker}
        self._median = {h.figure: h.peers for h in hot.heats}

    def cooled(self, beyond: Sequence[str], most: int) -> Cooling:
        broker, before = self._hot.broker, dict(self._bears.get(self._hot.broker, {}))
        if not before or not self._takers:
            return Cooling(broker, why_not="of now nothing is measured of it, or of any broker that could lead instead")
        goals = {f: max(ROOM * self._busy(f, broker), 1.2 * self._median[f]) for f in beyond}
        orders: dict[TopicPartition, tuple[int, ...]] = {}
        for p, load in self._led():
            if len(orders) >= most or all(self._bears[broker][f] <= goals[f] for f in beyond):
                break
            taker = self._taker(p, load, beyond)
            if taker is not None:
                self._hand(p, load, taker)
                orders[p.name] = (taker, *(b for b in p.replicas if b != taker))
        then = self._bears[broker]
        if not any(before[f] - then[f] >= LEAST_GAIN * before[f] for f in beyond):
            return Cooling(broker, why_not="nobody in sync could lead enough of it without becoming hot too")
        return Cooling(broker, orders, tuple(Forecast(f, before[f], then[f]) for f in beyond))

    def _led(self) -> list[tuple[PartitionSeen, Load]]:
        """What it heads and leads, the most sent first. Of heartbeats each broker leads one, and keeps it."""
        broker = self._hot.broker
        mine = [
            (p, self._loads[p.name])
            for p in self._kafka.partitions
            if p.leader == broker and p.replicas[0] == broker and not p.is_moving and p.name in self._loads
            if p.name.topic != HEARTBEAT_TOPIC
        ]
        return sorted(mine, key=lambda one: (-_sent(*one), one[0].name))

    def _taker(self, p: PartitionSeen, load: Load, beyond: Sequence[str]) -> int | None:
        """Who bears it best: nobody nearer to being hot than `ROOM`, and nobody above the hot one by any figure."""
        able = []
        for broker in p.replicas[1:]:
            if broker not in self._takers or broker not in p.isr:
                continue
            then = self._with(broker, p, load)
            left = self._without(p, load)
            if all(then[f] <= self._ceiling(f, broker) for f in then) and all(then[f] <= left[f] for f in beyond):
                able.append((max(then[f] / self._ceiling(f, broker) for f in then), broker))
        return min(able)[1] if able else None

    def _hand(self, p: PartitionSeen, load: Load, taker: int) -> None:
        self._bears[taker] = self._with(taker, p, load)
        self._bears[self._hot.broker] = self._without(p, load)

    def _with(self, taker: int, p: PartitionSeen, load: Load) -> dict[str, float]:
        """With the dearer of both brokers' CPU per byte: what is not known is rather too much than too little."""
        bears, sent = self._bears[taker], _sent(p, load)
        dearer = max(self._cpu_per_byte[taker], self._cpu_per_byte[self._hot.broker])
        return {CPU: bears[CPU] + dearer * (sent + load.write_bytes_per_s), BYTES_OUT: bears[BYTES_OUT] + sent}

    def _without(self, p: PartitionSeen, load: Load) -> dict[str, float]:
        broker, sent = self._hot.broker, _sent(p, load)
        bears = self._bears[broker]
        less = self._cpu_per_byte[broker] * sent
        return {CPU: max(0.0, bears[CPU] - less), BYTES_OUT: max(0.0, bears[BYTES_OUT] - sent)}

    def _busy(self, figure: str, broker: int) -> float:
        return self._rule.busy_from(figure, self._limits.get(broker))

    def _ceiling(self, figure: str, broker: int) -> float:
        return ROOM * self._busy(figure, broker)


def _sent(p: PartitionSeen, load: Load) -> float:
    """Bytes/s a leader of it sends: to consumers and to each follower."""
    return load.read_bytes_per_s + load.write_bytes_per_s * (len(p.replicas) - 1)


def _cpu_per_byte(figures: Mapping[str, float]) -> float:
    handled = figures[BYTES_OUT] + figures.get(BYTES_IN, 0.0)
    return figures[CPU] / handled if handled > 0 else 0.0
