"""Write rates of the metric lake for a drain request: what windows know goes before what logs were seen to grow by.

Windows are means over an hour, so they say better what a long copy will meet; the converger corrects throttles by what
is written at the moment anyway (`questions.moves.pacing`). Without a lake, or while it is cold, requests stay as they
are, and the certificate says what they rest on.
"""

import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from planner.drain.request import DrainRequest

if TYPE_CHECKING:
    from spark.metrics.rates import Rates

_log = logging.getLogger(__name__)

OLDEST_S = 1800.0
"""Windows that ended longer ago say nothing about now: the stream or the agents stand still."""

ReadRates = Callable[[str, str, datetime], "Rates"]
"""(lake, cluster uid, now) -> its rates, empty with a reason where it has none."""


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


def _looked_up(request: DrainRequest, written: Mapping[tuple[str, int], int]) -> np.ndarray:
    """int64[P]: the lake's rate of each row of the model, -1 where it has none."""
    model = request.cluster
    names = zip((model.topics[code] for code in model.topic.tolist()), model.partition.tolist(), strict=True)
    return np.array([written.get(name, -1) for name in names], dtype=np.int64)
