"""Daily: how the figures of every broker grow, from the lake's hours to its table of trends. Safe to repeat."""

from datetime import date

from spark.metrics.lake import Lake
from spark.metrics.trends import broker_days, broker_trends
from spark.metrics.windows import HOUR_S


def make_trends(lake: Lake, *, today: date) -> None:
    """What stood there is replaced in one transaction. Raises what Delta raises."""
    days = broker_days(lake.windows(HOUR_S), today=today)
    lake.replace_trends(broker_trends(days, today=today))
