"""Lines over time as pages draw them: figures for a script (`static/chart.js`), and the same as rows for everybody."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from controlplane.api.anomaly_series import Series
from controlplane.api.schemas.figures import FiguresOut
from planner.consumers.history import LagPoint

GAP = timedelta(minutes=25)
"""Without a point for so long a line is broken: nobody looked meanwhile."""
MINUTES_GAP = timedelta(minutes=2, seconds=30)
"""The same of a figure of minutes."""
MOST_ROWS = 60
"""Of the table beside a chart, the newest."""


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart. `lines` have a value, or None, for each of `times`; `mark` is a time drawn as a line across."""

    title: str
    unit: str
    times: tuple[datetime, ...]
    lines: Mapping[str, tuple[float | None, ...]]
    mark: datetime | None = None
    mark_words: str = ""
    marks: tuple[tuple[datetime, str], ...] = ()
    """More such times, each with what happened: in words beside the chart, where only their lines fit into it."""
    summary: str = ""
    """What it shows in words."""

    @property
    def data(self) -> str:
        """As the script takes it."""
        document = {
            "unit": self.unit,
            "times": [t.timestamp() for t in self.times],
            "lines": [{"name": name, "values": values} for name, values in self.lines.items()],
            "marks": [at.timestamp() for at in self._marked],
        }
        return json.dumps(document, separators=(",", ":"))

    @property
    def _marked(self) -> list[datetime]:
        return [*([self.mark] if self.mark else []), *(at for at, _ in self.marks)]

    @property
    def rows(self) -> list[tuple[datetime, tuple[float | None, ...]]]:
        """The newest first, without those that only break a line."""
        columns = list(self.lines.values())
        found = [(t, tuple(values[n] for values in columns)) for n, t in enumerate(self.times)]
        return [row for row in reversed(found) if any(v is not None for v in row[1])][:MOST_ROWS]


def lag_chart(points: Sequence[LagPoint]) -> Chart | None:
    """The lag of a group; None while there is no second point to draw a line to."""
    if len(points) < 2:
        return None
    times, values = broken([(p.at, float(p.lag)) for p in points], GAP)
    least, most = min(p.lag for p in points), max(p.lag for p in points)
    summary = f"{len(points)} looks; between {least} and {most} records, at last {points[-1].lag}"
    return Chart("Lag", "records", times, {"lag": values}, summary=summary)


def series_chart(series: Series, found_at: datetime) -> Chart:
    """A figure behind an anomaly, with the time it was found."""
    gap = series.every * 2.5
    every = list(series.times)
    apart = [a for a, b in pairwise(every) if b - a > gap]
    times, lines = with_gaps(series.times, series.lines, gap)
    summaries = [f"{name} {_span(values)}" for name, values in series.lines.items()]
    missing = f"; {len(apart)} times nothing was measured" if apart else ""
    summary = ", ".join(summaries) + missing
    return Chart(series.name, series.unit, times, lines, found_at, "found", summary=summary)


def traffic_chart(told: FiguresOut) -> Chart | None:
    """What all brokers took in and gave out, with the steps of the roll; None without a second point to draw to."""
    if len(told.traffic) < 2:
        return None
    ins = [None if p.in_bytes_per_s is None else p.in_bytes_per_s / 2**20 for p in told.traffic]
    outs = [None if p.out_bytes_per_s is None else p.out_bytes_per_s / 2**20 for p in told.traffic]
    times, lines = with_gaps([p.at for p in told.traffic], {"in": ins, "out": outs}, MINUTES_GAP)
    summary = "clients and replication"
    marks = tuple((mark.at, mark.words) for mark in told.marks)
    return Chart("All brokers", "MiB/s", times, lines, marks=marks, summary=summary)


def with_gaps(
    times: Sequence[datetime], lines: Mapping[str, Sequence[float | None]], gap: timedelta
) -> tuple[tuple[datetime, ...], dict[str, tuple[float | None, ...]]]:
    """Several lines over the same times, each with an empty value in each stretch that is longer than the gap."""
    pieces = {name: broken(list(zip(times, values, strict=True)), gap) for name, values in lines.items()}
    first = next(iter(pieces.values()), ((), ()))
    return first[0], {name: values for name, (_, values) in pieces.items()}


def _span(values: Sequence[float | None]) -> str:
    known = [v for v in values if v is not None]
    return f"{min(known):.3g} to {max(known):.3g}" if known else "not known"


def broken(
    points: Sequence[tuple[datetime, float | None]], gap: timedelta
) -> tuple[tuple[datetime, ...], tuple[float | None, ...]]:
    """Times and values, with an empty value in each stretch of time that is longer than the gap."""
    times: list[datetime] = []
    values: list[float | None] = []
    for at, value in points:
        if times and at - times[-1] > gap:
            times.append(times[-1] + gap / 2)
            values.append(None)
        times.append(at)
        values.append(value)
    return tuple(times), tuple(values)
