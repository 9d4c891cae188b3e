"""The window kernel: all messages of one broker in one window -> its figures, as arrays over its replicas.

Pure numpy. One call handles what one broker said in one window, so no single sample is ever touched in Python.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from spark.metrics.partitions import BrokerPartitions, Floats, Ints, Place, stacked, union
from spark.metrics.wire import BROKER_FIGURES, PARTITION_FIGURES, MetricsMessage

MINUTE_MS = 60_000
HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True, eq=False)
class Figures:
    """Parallel arrays, one entry per replica (one entry in all for a broker's figure). NaN where `samples` is 0."""

    samples: Ints
    mean: Floats
    max: Floats
    p95: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WindowFigures:
    """One broker in [start_ms, start_ms + width_ms). `received` of `expected` messages came; duplicates count once."""

    cluster: str
    broker: int
    node: str
    start_ms: int
    width_ms: int
    broker_started_ms: int
    expected: int
    received: int
    duplicates: int = 0
    unreadable: int = 0
    partitions: BrokerPartitions
    figures: Mapping[str, Figures]


def windows_of_broker(
    messages: Sequence[MetricsMessage], *, width_ms: int, duplicates: int = 0, unreadable: int = 0
) -> list[WindowFigures]:
    """The minutes of one broker's window in order, then the window. One message or more, each of another interval.

    Mean, max and p95 of the window are those of its samples, not of its minutes.
    """
    ordered = sorted(messages, key=lambda message: message.interval_start_ms)
    partitions, places = union([message.partitions for message in ordered])
    samples = {
        name: stacked([getattr(message, name) for message in ordered], places, len(partitions))
        for name in PARTITION_FIGURES
    }
    samples |= {name: np.array([[message.figures[name]] for message in ordered]) for name in BROKER_FIGURES}
    start_ms = ordered[0].interval_start_ms // width_ms * width_ms
    minute = np.array([message.interval_start_ms // MINUTE_MS for message in ordered])
    spans = [(int(m) * MINUTE_MS, MINUTE_MS, np.flatnonzero(minute == m)) for m in np.unique(minute)]
    spans.append((start_ms, width_ms, np.arange(len(ordered))))
    return [
        WindowFigures(
            cluster=ordered[-1].cluster,
            broker=ordered[-1].broker,
            node=ordered[-1].node,
            start_ms=start,
            width_ms=width,
            broker_started_ms=max(ordered[row].broker_started_ms for row in rows),
            expected=width // min(ordered[row].interval_ms for row in rows),
            received=len(rows),
            duplicates=duplicates if width == width_ms else 0,
            unreadable=unreadable if width == width_ms else 0,
            partitions=partitions,
            figures={name: summary(values[rows]) for name, values in samples.items()},
        )
        for start, width, rows in spans
    ]


def hour_of_broker(minutes: Sequence[WindowFigures]) -> WindowFigures:
    """The hour of one broker's minutes (one or more): means weighted by samples, p95 over the minutes' means."""
    ordered = sorted(minutes, key=lambda minute: minute.start_ms)
    partitions, places = union([minute.partitions for minute in ordered])
    last = ordered[-1]
    figures = {
        name: _of_minutes([minute.figures[name] for minute in ordered], places, len(partitions))
        for name in PARTITION_FIGURES
    }
    whole: list[Place] = [slice(None)] * len(ordered)
    figures |= {name: _of_minutes([minute.figures[name] for minute in ordered], whole, 1) for name in BROKER_FIGURES}
    return WindowFigures(
        cluster=last.cluster,
        broker=last.broker,
        node=last.node,
        start_ms=last.start_ms // HOUR_MS * HOUR_MS,
        width_ms=HOUR_MS,
        broker_started_ms=max(minute.broker_started_ms for minute in ordered),
        expected=HOUR_MS // MINUTE_MS * max(minute.expected for minute in ordered),
        received=sum(minute.received for minute in ordered),
        partitions=partitions,
        figures=figures,
    )


def summary(samples: Floats) -> Figures:
    """Over the first axis (time) of `samples`, NaN left out. p95 is the linear one, as Spark's `percentile`."""
    known = ~np.isnan(samples)
    count = known.sum(axis=0).astype(np.int32)
    if len(samples) == 1:
        return Figures(count, samples[0], samples[0], samples[0])
    with np.errstate(invalid="ignore"):
        mean = np.where(known, samples, 0.0).sum(axis=0) / count
    ordered = np.sort(samples, axis=0)  # NaN sorts last
    last = np.maximum(count - 1, 0)
    return Figures(count, mean, _at(ordered, last), _percentile(ordered, last, 0.95))


def _of_minutes(minutes: Sequence[Figures], places: Sequence[Place], width: int) -> Figures:
    means = stacked([minute.mean for minute in minutes], places, width)
    samples = np.nan_to_num(stacked([minute.samples for minute in minutes], places, width)).astype(np.int32)
    highest = summary(stacked([minute.max for minute in minutes], places, width)).max
    count = samples.sum(axis=0, dtype=np.int32)
    with np.errstate(invalid="ignore"):
        mean = np.where(samples > 0, means * samples, 0.0).sum(axis=0) / count
    return Figures(count, mean, highest, summary(means).p95)


def _percentile(ordered: Floats, last: Ints, share: float) -> Floats:
    """Linear between the two samples around `share` of the way to the `last` known one of each column."""
    position = share * last
    low = position.astype(np.int64)
    below, above = _at(ordered, low), _at(ordered, np.minimum(low + 1, last))
    return below + (above - below) * (position - low)


def _at(ordered: Floats, rows: npt.NDArray[np.integer[Any]]) -> Floats:
    found: Floats = ordered[rows, np.arange(ordered.shape[1])]
    return found
