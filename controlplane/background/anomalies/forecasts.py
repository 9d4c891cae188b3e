"""Forecasts of brokers: trends of the lake against what their machines and disks can take. Pure."""

from collections.abc import Iterator, Mapping
from datetime import date, timedelta

from controlplane.cluster.view import ClusterView
from controlplane.converger.questions.moves.pacing import bandwidths
from planner.anomalies.judge import AnomalyFinding
from planner.anomalies.kinds import Kind
from planner.forecasts.forecast import Forecast, forecast
from planner.forecasts.trend import Trend
from planner.observed import KafkaSnapshot
from spark.metrics.read_trends import ClusterTrends

Forecasts = Mapping[int, tuple[Forecast, ...]]
"""By broker."""

OLDEST = timedelta(days=3)
"""Trends are made once a day; older ones say nothing of now."""

WEEK, MONTH = "week", "month"
"""How soon, in the subject of an anomaly: another one is another anomaly, which is told anew."""

_WITHIN_DAYS = {WEEK: 7.0, MONTH: 30.0}
_WORDS = {"disk": "disk", "nic-in": "network in", "nic-out": "network out", "cpu": "processors"}


def forecasts_of(
    view: ClusterView, kafka: KafkaSnapshot | None, trends: ClusterTrends | None, today: date
) -> Forecasts:
    """Of brokers that have trends which are young. A disk's level is what was last measured of it."""
    if trends is None or today - trends.made > OLDEST:
        return {}
    nic = bandwidths(view)
    there = {i.service_id for i in view.brokers() if not i.lost}
    return {
        broker: tuple(_forecast(trend, kafka, broker, nic.get(broker)) for trend in of_broker)
        for broker, of_broker in trends.by_broker.items()
        if broker in there
    }


def _forecast(trend: Trend, kafka: KafkaSnapshot | None, broker: int, nic: int | None) -> Forecast:
    if trend.figure == "cpu":
        return forecast(trend, 1.0)
    if trend.figure != "disk":
        return forecast(trend, None if nic is None else float(nic))
    disk = kafka.log_dirs.get(broker) if kafka is not None else None
    if disk is None or disk.total_bytes <= 0:
        return forecast(trend, None)
    return forecast(trend, float(disk.total_bytes), level=float(disk.total_bytes - disk.usable_bytes))


def short_capacity(view: ClusterView, forecasts: Forecasts) -> Iterator[AnomalyFinding]:
    """What is used up within a month, by the likely day; the subject says how soon. A disk that is full now is told by
    its agent."""
    nodes = {i.service_id: i.node for i in view.brokers()}
    for broker, found in forecasts.items():
        for one in found:
            within = next((name for name, days in _WITHIN_DAYS.items() if _is_within(one, days)), None)
            if within is not None and broker in nodes:
                subject = f"{nodes[broker]}/{one.figure}/{within}"
                reason = f"broker {broker}, {_WORDS[one.figure]}: {one.sentence}, by {one.days} days"
                yield AnomalyFinding(Kind.CAPACITY, subject, reason)


def _is_within(one: Forecast, days: float) -> bool:
    return one.likely is not None and one.likely <= days
