"""What was measured about an anomaly, as far as it is kept: windows of the metric lake, and learned rates of topics."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from controlplane.api.services import PortalServices
from controlplane.background.anomalies.rate_learning import learned_past
from controlplane.cluster.view import ClusterView
from planner.anomalies import hot, judge, kinds, slow, topic_rates
from planner.anomalies.series import latency_series

BEFORE, AFTER = timedelta(hours=6), timedelta(hours=2)
"""How much around the time it was found is shown."""
FIGURES_OF: Final[Mapping[kinds.Kind, Mapping[str, str]]] = {
    kinds.Kind.SLOW_BROKER: dict.fromkeys(slow.FLOORS_MS, "ms"),
    kinds.Kind.HOT_BROKER: {hot.CPU: "of the machine", hot.BYTES_IN: "bytes/s", hot.BYTES_OUT: "bytes/s"},
}
"""What is measured of a broker that has such an anomaly, with its unit."""
_MISSING: Final = "nothing of this kind is measured over time"
PEERS: Final = "median of its peers"


@dataclass(frozen=True, slots=True)
class Series:
    """One figure over time: each line has a value, or None, for each of `times`."""

    name: str
    unit: str
    times: tuple[datetime, ...]
    lines: dict[str, tuple[float | None, ...]]
    every: timedelta
    """How far apart two points are while nothing is missing."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The series behind an anomaly; where there is none, `why` says it."""

    series: tuple[Series, ...] = ()
    why: str = ""


def measured(services: PortalServices, view: ClusterView, anomaly: judge.Anomaly) -> Measured:
    """Reads the lake where one is set; raises StoreUnavailable."""
    if anomaly.kind in FIGURES_OF:
        return _of_broker(services, view, anomaly)
    topic = topic_rates.topic_of_rate(anomaly.subject) if anomaly.kind is kinds.Kind.TOPIC_ANOMALY else None
    return Measured(why=_MISSING) if topic is None else _rates(services, view, topic)


def _of_broker(services: PortalServices, view: ClusterView, anomaly: judge.Anomaly) -> Measured:
    brokers = {i.service_id: i.node for i in view.instances.values() if i.is_broker}
    own = [broker for broker, node in brokers.items() if node == anomaly.subject]
    until = min(services.clock(), anomaly.found_at + AFTER)
    windows = services.brokers.windows.past(view.uid, sorted(brokers), until) if own else ()
    shown = [w for w in windows if anomaly.found_at - BEFORE <= w.end <= until]
    if not shown:
        return Measured(why="of that time the metric lake has no windows, or there is no lake (`telemetry.lake`)")
    # A node has a new broker id with each VM: the one that was measured then is meant.
    seen = [b for b in own if any(w.broker == b for w in shown)] or own[-1:]
    found = [_figure(shown, seen[-1], figure, unit) for figure, unit in FIGURES_OF[anomaly.kind].items()]
    return Measured(tuple(s for s in found if s is not None))


def _figure(windows: Sequence[slow.BrokerWindow], broker: int, figure: str, unit: str) -> Series | None:
    points = latency_series(windows, broker, figure)
    if not any(p.own is not None for p in points):
        return None
    lines = {f"broker {broker}": tuple(p.own for p in points), PEERS: tuple(p.peers for p in points)}
    every = min((w.end - w.start for w in windows), default=timedelta(minutes=5))
    return Series(figure, unit, tuple(p.at for p in points), lines, every)


def _rates(services: PortalServices, view: ClusterView, topic: str) -> Measured:
    past = learned_past(services.cluster.latest, view.uid, topic)
    if len(past) < 2:
        return Measured(
            why=f"rates are kept of topics whose usual rate is learned (`rate.learn`); of {topic} there are none"
        )
    times, values = tuple(at for at, _ in past), tuple(rate for _, rate in past)
    return Measured((Series(f"rate of {topic}", "records/s", times, {"mean of the hour": values}, timedelta(hours=1)),))
