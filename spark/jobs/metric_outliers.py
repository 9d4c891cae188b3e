"""Who is an outlier? A JSON line per broker that leaves its peers and its own past, in the newest closed window."""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyspark.sql import functions as F  # noqa: N812 its usual name

from spark.lake_jars import lake_jars, lake_settings
from spark.metrics.lake import Lake
from spark.metrics.outliers import outlier_brokers
from spark.metrics.windows import WINDOW_S
from spark.session import SparkSettings, build_session, close_session


def outliers_in(lake: Lake, *, judged: datetime | None = None) -> Iterator[dict[str, Any]]:
    """Findings of the 5 min window that starts at `judged` (aware), by default each cluster's newest: plain values,
    times in ISO 8601. Clusters whose agents fell silent are judged by their own last window, which is in the line.
    """
    windows = lake.windows(WINDOW_S)
    newest = windows.groupBy("cluster").agg(F.max("window_start").alias("newest")).collect()
    for start in sorted({row["newest"].astimezone(UTC) for row in newest} if judged is None else {judged}):
        mine = [row["cluster"] for row in newest if judged is not None or row["newest"].astimezone(UTC) == start]
        found = outlier_brokers(windows.where(F.col("cluster").isin(mine)), start)
        for row in found.orderBy("cluster", "broker").collect():
            told = row.asDict(recursive=True)
            yield told | {name: told[name].astimezone(UTC).isoformat() for name in ("window_start", "window_end")}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m spark.jobs.metric_outliers", description=__doc__)
    parser.add_argument("--lake", required=True, help="path or URL of the metric lake")
    parser.add_argument("--at", type=datetime.fromisoformat, help="start of the window to judge (ISO 8601 with zone)")
    parser.add_argument("--master", default="local[*]", help="Spark master")
    parser.add_argument("--cache", type=Path, default=Path(".cache"), help="where `spark/jars` is")
    options = parser.parse_args(argv)
    if options.at is not None and options.at.tzinfo is None:
        parser.error(f"--at {options.at.isoformat()} has no time zone: write {options.at.isoformat()}Z")
    with tempfile.TemporaryDirectory() as work:
        extra = lake_settings(lake_jars(options.cache))
        session = build_session(SparkSettings(work_dir=Path(work), master=options.master, extra=extra))
        try:
            for line in outliers_in(Lake(session, options.lake), judged=options.at):
                print(json.dumps(line))
        finally:
            close_session(session)
    return 0


if __name__ == "__main__":
    sys.exit(main())
