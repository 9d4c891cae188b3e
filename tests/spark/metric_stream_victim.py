"""The metric stream in a process of its own, which dies by SIGKILL where it is told to: `NAME` is a method of Lake.

python -m tests.spark.metric_stream_victim SETTINGS.json NAME before|after
"""

import json
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

from spark.jobs.metric_stream import StreamSettings, start
from spark.lake_jars import lake_jars, lake_settings
from spark.metrics.lake import Lake
from spark.session import SparkSettings, build_session


def main(settings: Path, method: str, when: str) -> None:
    """Never returns when the method is reached: the whole process group dies, Java and Python workers with it."""
    done = getattr(Lake, method)

    def deadly(lake: Lake, *arguments: Any, **named: Any) -> None:
        if when == "after":
            done(lake, *arguments, **named)
        os.killpg(0, signal.SIGKILL)

    setattr(Lake, method, deadly)
    cache = Path(__file__).resolve().parent.parent.parent / ".cache"
    extra = lake_settings(lake_jars(cache))
    with tempfile.TemporaryDirectory(dir=settings.parent) as work:
        session = build_session(
            SparkSettings(work_dir=Path(work), master="local[2]", shuffle_partitions=2, extra=extra)
        )
        start(session, StreamSettings(**json.loads(settings.read_text()))).awaitTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
