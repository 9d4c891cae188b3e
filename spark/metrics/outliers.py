"""Outlier brokers: each against its peers now and against its own past, with the numbers. DataFrame -> DataFrame.

The score is the modified z-score of Iglewicz and Hoaglin (How to Detect and Handle Outliers, 1993): 0.6745 (x - median)
/ MAD, suspicious from 3.5. Median and MAD, since an outlier moves a mean and a deviation towards itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 its usual name

from spark.metrics.schemas import FINDING, OUTLIERS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_CONSISTENCY = 0.6745


@dataclass(frozen=True, slots=True)
class JudgedFigure:
    """`sign` +1: high is bad, -1: low is bad. `least_spread`: differences below it are noise, whatever the MAD says."""

    sign: int
    least_spread: float


_FIGURES: Mapping[str, JudgedFigure] = MappingProxyType(
    {
        "cpu": JudgedFigure(+1, 0.02),
        "request_handler_idle": JudgedFigure(-1, 0.02),
        "log_flush_p99_ms": JudgedFigure(+1, 2.0),
        "nic_in_bytes_per_s": JudgedFigure(+1, 1e6),
        "nic_out_bytes_per_s": JudgedFigure(+1, 1e6),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutlierRule:
    """An outlier scores at least `score` against peers and past alike, in at least `agreeing` figures.

    `grace_s` after its start a broker is judged by nobody and judges nobody: caches are cold, replicas catch up.
    """

    score: float = 3.5
    agreeing: int = 2
    least_peers: int = 4
    least_past: int = 12
    past_s: int = 86_400
    grace_s: int = 900
    least_completeness: float = 0.6
    least_spread_share: float = 0.05
    figures: Mapping[str, JudgedFigure] = field(default_factory=lambda: _FIGURES)


def outlier_brokers(windows: "DataFrame", judged: datetime, rule: OutlierRule | None = None) -> "DataFrame":
    """WINDOWS of one width in, OUTLIERS of the window that starts at `judged` (aware) out; no row is no outlier.

    A cluster with fewer brokers than `least_peers`, and a broker with less past than `least_past` windows, has none.
    """
    rule = rule or OutlierRule()
    figures = _settled_figures(windows, rule)
    now = figures.where(F.col("window_start") == F.lit(judged))
    begins = judged - timedelta(seconds=rule.past_s)
    past = figures.where((F.col("window_start") >= F.lit(begins)) & (F.col("window_start") < F.lit(judged)))
    scored = now.join(_centres(now, "peers", ["cluster", "figure"]), on=["cluster", "figure"], how="inner")
    scored = scored.join(
        _centres(past, "past", ["cluster", "broker", "figure"]), on=["cluster", "broker", "figure"], how="inner"
    )
    for against in ("peers", "past"):
        scored = scored.withColumn(f"{against}_score", _score(against, rule))
    enough = (F.col("peers_count") >= rule.least_peers) & (F.col("past_count") >= rule.least_past)
    beyond = F.least("peers_score", "past_score") >= rule.score
    grouped = scored.where(enough & beyond).groupBy("cluster", "broker", "node", "window_start", "window_end")
    found = grouped.agg(
        F.max("peers_count").cast("int").alias("peers"),
        F.sort_array(F.collect_list(F.struct(*FINDING.names))).alias("findings"),
    )
    return found.where(F.size("findings") >= rule.agreeing).select(*OUTLIERS.names)


def _settled_figures(windows: "DataFrame", rule: OutlierRule) -> "DataFrame":
    """One row per broker, window and known figure; windows in the grace after a start, and gappy ones, left out."""
    started = F.coalesce(F.col("broker_started"), F.timestamp_seconds(F.lit(0)))
    settled = F.unix_seconds("window_start") >= F.unix_seconds(started) + rule.grace_s
    complete = F.col("completeness") >= rule.least_completeness
    figures = [F.struct(F.lit(name).alias("figure"), F.col(f"{name}.mean").alias("value")) for name in rule.figures]
    columns = ("cluster", "broker", "node", "window_start", "window_end")
    rows = windows.where(settled & complete).select(*columns, F.inline(F.array(*figures)))
    return rows.where(F.col("value").isNotNull())


def _centres(figures: "DataFrame", name: str, by: list[str]) -> "DataFrame":
    """Median and median absolute deviation of each group, and how many values stand behind them."""
    median, count, mad = f"{name}_median", f"{name}_count", f"{name}_mad"
    medians = figures.groupBy(*by).agg(F.median("value").alias(median), F.count("value").alias(count))
    apart = F.abs(F.col("value") - F.col(median))
    return figures.join(medians, on=by, how="inner").groupBy(*by, median, count).agg(F.median(apart).alias(mad))


def _score(against: str, rule: OutlierRule) -> "Column":
    """Positive is bad. The spread is never taken smaller than what is noise for the figure."""
    sign, least = F.lit(None).cast("int"), F.lit(None).cast("double")
    for name, judged in rule.figures.items():
        is_it = F.col("figure") == name
        sign = F.when(is_it, judged.sign).otherwise(sign)
        least = F.when(is_it, judged.least_spread).otherwise(least)
    median = F.col(f"{against}_median")
    spread = F.greatest(F.col(f"{against}_mad"), least, F.abs(median) * rule.least_spread_share)
    return sign * _CONSISTENCY * (F.col("value") - median) / spread
