"""What is told of forecasts: days until a disk is full, or a network or processors are busy. Pure."""

from collections.abc import Iterable, Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from controlplane.api.metrics.snapshot import ClusterSnapshot


def forecast_families(clusters: Iterable[ClusterSnapshot]) -> Iterator[Metric]:
    """By cluster, broker and figure. What is not within a year, or unknown, is absent."""
    one = ["cluster", "broker", "figure"]
    days = GaugeMetricFamily(
        "kedge_forecast_days", "Until a disk is full, or a figure at 80 %.", labels=[*one, "estimate"]
    )
    known = GaugeMetricFamily("kedge_forecast_known", "1 where something can be said.", labels=one)
    growth = GaugeMetricFamily("kedge_forecast_growth_per_day", "Bytes, bytes/s or share.", labels=one)
    for cluster in clusters:
        for broker, found in sorted(cluster.forecasts.items()):
            for forecast in found:
                labels = [cluster.view.name, str(broker), forecast.figure]
                known.add_metric(labels, float(not forecast.unknown))
                if not forecast.unknown:
                    growth.add_metric(labels, forecast.per_day)
                for estimate in ("earliest", "likely", "latest"):
                    value = getattr(forecast, estimate)
                    if value is not None:
                        days.add_metric([*labels, estimate], value)
    yield from (days, known, growth)
