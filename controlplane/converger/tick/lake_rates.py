"""Rates of the metric lake for drains and rebalances: what windows know goes before what logs were seen to grow by.

Windows are means over an hour, so they say better what a long copy will meet; the converger corrects throttles by what
is written at the moment anyway (`questions.moves.pacing`). Without a lake, or while it is cold, requests stay as they
are, and the certificate says what they rest on.
"""

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from planner.anomalies.hot import CPU
from planner.anomalies.slow import BrokerWindow
from planner.drain.request import DrainRequest
from planner.rebalancing.question import RebalanceQuestion

if TYPE_CHECKING:
    from spark.metrics.rates import Rates

_log = logging.getLogger(__name__)

OLDEST_S = 1800.0
"""Windows that ended longer ago say nothing about now: the stream or the agents stand still."""

ReadRates = Callable[[str, str, datetime], "Rates"]
"""(lake, cluster uid, now) -> its rates, empty with a reason where it has none."""

ReadCpu = Callable[[str, str, datetime], dict[int, float]]
"""(lake, cluster uid, now) -> the share of its processors each broker uses, where that is known."""


def read_lake(lake: str, cluster: str, now: datetime) -> "Rates":
    """`spark.metrics.rates.read_rates`; a lake that is there and cannot be read has no rates either, and says why."""
    from deltalake.exceptions import DeltaError
    from pyarrow import ArrowException

    from spark.metrics.rates import Rates, read_rates

    try:
        return read_rates(lake, cluster, now=now)
    except (DeltaError, ArrowException, OSError, ValueError, KeyError) as error:
        return Rates(reason=f"the metric lake at {lake} cannot be read ({error!r})")


def with_lake_rates(request: DrainRequest, lake: str, *, now: datetime, read: ReadRates = read_lake) -> DrainRequest:
    """The request with the lake's write rates where it knows them; as it was where the lake has none that are fresh."""
    rates = read(lake, request.cluster_uid, now)
    if not rates or rates.age_s is None or rates.age_s > OLDEST_S:
        _log.info("drain %s: %s", request.drain_id, rates.reason)
        return request
    written = {name: math.ceil(rate.write_bytes_per_s) for name, rate in rates.by_partition.items()}
    known = _looked_up(request, written)
    model = request.cluster
    merged = np.where(known >= 0, known, model.write_bytes_per_s)
    windows = f"metric windows of {int((known >= 0).sum())} partitions, {rates.age_s:.0f} s old"
    rest = f"; of others {request.write_rates_from}" if request.write_rates_from else ""
    return replace(request, cluster=replace(model, write_bytes_per_s=merged), write_rates_from=f"{windows}{rest}")


def with_lake_figures(
    question: RebalanceQuestion,
    lake: str,
    *,
    now: datetime,
    read: ReadRates = read_lake,
    cpu: ReadCpu | None = None,
) -> RebalanceQuestion:
    """The question with the lake's write and read rates where it knows them, and what brokers use of their processors;
    as it was where the lake has nothing that is fresh.
    """
    request = question.request
    rates = read(lake, request.cluster_uid, now)
    if not rates or rates.age_s is None or rates.age_s > OLDEST_S:
        _log.info("rebalance %s: %s", request.rebalance_id, rates.reason)
        return question
    names = [p.name for p in question.cluster.partitions]
    known = {n: found for n in names if (found := rates.by_partition.get((n.topic, n.partition))) is not None}
    written = {n: math.ceil(rate.write_bytes_per_s) for n, rate in known.items()}
    fetched = {n: math.ceil(rate.read_bytes_per_s) for n, rate in known.items()}
    windows = f"metric windows of {len(known)} partitions, {rates.age_s:.0f} s old"
    rest = f"; of others {request.write_rates_from}" if request.write_rates_from else ""
    return replace(
        question,
        request=replace(
            request,
            write_bytes_per_s=dict(sorted({**request.write_bytes_per_s, **written}.items())),
            read_bytes_per_s=dict(sorted({**request.read_bytes_per_s, **fetched}.items())),
            write_rates_from=f"{windows}{rest}",
            cpu_used=(cpu or read_cpu)(lake, request.cluster_uid, now),
        ),
    )


def read_cpu(lake: str, cluster: str, now: datetime) -> dict[int, float]:
    """By broker, the mean share of its processors in windows of the last half hour; none where they cannot be read."""
    from deltalake.exceptions import DeltaError
    from pyarrow import ArrowException

    from spark.metrics.latencies import recent_windows
    from spark.metrics.rates import WINDOW_S

    try:
        windows = recent_windows(lake, WINDOW_S, now=now).get(cluster, ())
    except (DeltaError, ArrowException, OSError, ValueError, KeyError) as error:
        _log.warning("the metric lake at %s cannot be read: %r", lake, error)
        return {}
    return mean_cpu(windows, now)


def mean_cpu(windows: Sequence[BrokerWindow], now: datetime) -> dict[int, float]:
    """By broker, the mean share of its processors in those of these windows that are young enough."""
    shares: dict[int, list[float]] = {}
    for window in windows:
        if CPU in window.figures and (now - window.end).total_seconds() <= OLDEST_S:
            shares.setdefault(window.broker, []).append(window.figures[CPU])
    return {broker: fmean(found) for broker, found in sorted(shares.items())}


def _looked_up(request: DrainRequest, written: Mapping[tuple[str, int], int]) -> np.ndarray:
    """int64[P]: the lake's rate of each row of the model, -1 where it has none."""
    model = request.cluster
    names = zip((model.topics[code] for code in model.topic.tolist()), model.partition.tolist(), strict=True)
    return np.array([written.get(name, -1) for name in names], dtype=np.int64)
