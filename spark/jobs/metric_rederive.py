"""Derives windows anew from raw messages and puts them in the place of what stands there; a batch job.

Without late messages the result equals what the stream wrote. `include_late` mends windows that closed too early.
"""

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 its usual name

from spark.lake_jars import lake_jars, lake_settings
from spark.metrics.frontier import WindowSpan
from spark.metrics.intake import LATE, TIMELY
from spark.metrics.lake import Lake
from spark.metrics.windows import HOUR_S, MINUTE_S, WINDOW_S, hours_of, windows_of
from spark.session import SparkSettings, build_session, close_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def derived(lake: Lake, spans: Sequence[WindowSpan], *, include_late: bool = False) -> "DataFrame":
    """WINDOWS of 60 and 300 s in `spans`, from raw messages; nothing is written."""
    wanted = [TIMELY, LATE] if include_late else [TIMELY]
    return windows_of(lake.messages_in(spans).where(F.col("standing").isin(wanted)))


def rederive(lake: Lake, span: WindowSpan, *, include_late: bool = False) -> None:
    """Replaces the minutes and windows in `span`, then the hours it touches; each in one transaction.

    What is not closed yet is left out: the stream will write it.
    """
    frontiers = lake.frontiers()
    windows = _closed(span, {c: f.windows_closed_ms for c, f in frontiers.items()}, WINDOW_S * 1000)
    if windows:
        lake.replace_windows(derived(lake, windows, include_late=include_late), windows, (MINUTE_S, WINDOW_S))
    hours = _closed(span, {c: f.hours_closed_ms for c, f in frontiers.items()}, HOUR_S * 1000)
    if hours:
        lake.replace_windows(hours_of(lake.windows_in(hours, MINUTE_S)), hours, (HOUR_S,))


def main(argv: Sequence[str] | None = None) -> int:
    options = _parsed(argv)
    span = WindowSpan(_ms(options.since), _ms(options.until), tuple(options.cluster))
    with tempfile.TemporaryDirectory() as work:
        extra = lake_settings(lake_jars(options.cache))
        session = build_session(SparkSettings(work_dir=Path(work), master=options.master, extra=extra))
        try:
            rederive(Lake(session, options.lake), span, include_late=options.include_late)
        finally:
            close_session(session)
    return 0


def _closed(span: WindowSpan, closed_ms: Mapping[str, int], width_ms: int) -> list[WindowSpan]:
    """The closed windows of `width_ms` that `span` touches, cluster by cluster."""
    from_ms, to_ms = span.from_ms // width_ms * width_ms, -(-span.to_ms // width_ms) * width_ms
    ends = {cluster: min(to_ms, closed_ms.get(cluster, 0)) for cluster in span.clusters}
    return [WindowSpan(from_ms, end_ms, (cluster,)) for cluster, end_ms in ends.items() if from_ms < end_ms]


def _ms(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1000)


def _parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m spark.jobs.metric_rederive", description="Derives windows anew")
    parser.add_argument("--lake", required=True, help="path or URL of the metric lake")
    parser.add_argument("--cluster", action="append", required=True, help="cluster uid; may come several times")
    parser.add_argument("--since", required=True, help="ISO time with offset, e.g. 2026-11-21T10:00:00+00:00")
    parser.add_argument("--until", required=True, help="ISO time with offset, exclusive")
    parser.add_argument("--include-late", action="store_true", help="messages that came after their window closed")
    parser.add_argument("--master", default="local[*]", help="Spark master")
    parser.add_argument("--cache", type=Path, default=Path(".cache"), help="where `spark/jars` is")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
