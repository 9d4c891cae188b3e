"""Daily upkeep of the metric lake: many small files become few, old days go. Safe beside the stream, and to repeat."""

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from spark.lake_jars import lake_jars, lake_settings
from spark.metrics.lake import Lake
from spark.metrics.windows import HOUR_S, MINUTE_S, WINDOW_S
from spark.session import SparkSettings, build_session, close_session


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """Whole days that are kept, besides today."""

    messages: int = 7
    minutes: int = 2
    windows: int = 14
    hours: int = 400

    def first_days(self, today: date) -> Mapping[int | None, date]:
        """The first day that stays, by the width of windows in seconds; None: raw messages."""
        days = {None: self.messages, MINUTE_S: self.minutes, WINDOW_S: self.windows, HOUR_S: self.hours}
        return {which: today - timedelta(days=kept) for which, kept in days.items()}


def keep_up(lake: Lake, *, today: date, retention: Retention | None = None) -> None:
    """Compacts yesterday, which the stream has left, expires what is too old, deletes files nobody reads any more."""
    lake.compact(day=today - timedelta(days=1))
    lake.expire(before=(retention or Retention()).first_days(today))
    lake.vacuum()


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m spark.jobs.metric_upkeep", description="Upkeep of the metric lake")
    parser.add_argument("--lake", required=True, help="path or URL of the metric lake")
    parser.add_argument("--master", default="local[*]", help="Spark master")
    parser.add_argument("--cache", type=Path, default=Path(".cache"), help="where `spark/jars` is")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as work:
        extra = lake_settings(lake_jars(options.cache))
        session = build_session(SparkSettings(work_dir=Path(work), master=options.master, extra=extra))
        try:
            keep_up(Lake(session, options.lake), today=datetime.now(UTC).date())
        finally:
            close_session(session)
    return 0


if __name__ == "__main__":
    sys.exit(main())
