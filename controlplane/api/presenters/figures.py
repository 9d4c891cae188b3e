"""From windows of the metric lake to what the API says of brokers."""

from controlplane.api.read_models.broker_figures import SHOWN, Measured, newest, roll_marks, traffic
from controlplane.api.read_models.roll_stages import Roll
from controlplane.api.schemas import figures as api
from controlplane.api.services import PortalServices
from controlplane.background.anomalies.forecasts import forecasts_of
from controlplane.cluster.view import ClusterView
from planner.forecasts.forecast import Forecast

_NAMES = [name for name in api.BrokerFiguresOut.model_fields if name not in ("broker", "at")]


def figures_out(services: PortalServices, view: ClusterView, roll: Roll) -> api.FiguresOut:
    """Reads the lake where there is one."""
    now = services.clock()
    since = now - SHOWN
    windows = services.brokers.windows.figures(view.uid, since, now)
    points = traffic(windows, services.fleet.clusters.traffic(view.uid).recent)
    return api.FiguresOut(
        cluster=view.name,
        brokers=[broker_figures_out(one) for _, one in sorted(newest(windows, now).items())],
        traffic=[
            api.TrafficOut(at=p.at, in_bytes_per_s=p.in_bytes_per_s, out_bytes_per_s=p.out_bytes_per_s) for p in points
        ],
        marks=[api.RollMarkOut(at=mark.at, words=mark.words) for mark in roll_marks(roll, since)],
        forecasts=cluster_forecasts(services, view),
        why_none="" if windows or points else _why_none(services),
    )


def broker_figures_out(one: Measured) -> api.BrokerFiguresOut:
    """One broker's newest minute."""
    return api.BrokerFiguresOut(broker=one.broker, at=one.at, **{name: one.figures.get(name) for name in _NAMES})


def cluster_forecasts(services: PortalServices, view: ClusterView) -> list[api.ForecastOut]:
    """Of all its brokers, by id."""
    kafka = services.fleet.clusters.last_snapshot(view.uid)
    trends = services.brokers.windows.trends().get(view.uid)
    found = forecasts_of(view, kafka, trends, services.clock().date())
    return [_forecast_out(broker, one) for broker, of_broker in sorted(found.items()) for one in of_broker]


def _forecast_out(broker: int, one: Forecast) -> api.ForecastOut:
    known = not one.unknown
    return api.ForecastOut(
        broker=broker,
        figure=one.figure,
        level=one.level if known else None,
        limit=one.limit or None,
        per_day=one.per_day if known else None,
        earliest=one.earliest,
        likely=one.likely,
        latest=one.latest,
        days=one.days,
        words=one.sentence,
        unknown=one.unknown,
    )


def _why_none(services: PortalServices) -> str:
    pipeline = services.operations.pipeline()
    if pipeline is None:
        return "the server does not say whether it reads metrics"
    if pipeline.state == "running":
        return "no minute of this cluster is closed yet: the first are there five to eight minutes after a start"
    return f"metrics are not read: {pipeline.state}{f', {pipeline.reason}' if pipeline.reason else ''}"
