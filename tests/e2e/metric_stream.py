"""The metric stream beside a living cluster: agents, Kafka, Spark, the lake, as docs/metrics.md has one run it."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENDS_WITHIN_S = 120.0


@contextmanager
def metric_stream(bootstrap: str, work: Path) -> Iterator[Path]:
    """Runs while the block does, with its log, checkpoint and the lake below `work`; gives the lake.

    Raises AssertionError where it did not run to the end of the block, with the last lines of its log.
    """
    lake, log = work / "lake", work / "stream.log"
    command = [sys.executable, "-m", "spark.jobs.metric_stream", "--bootstrap", bootstrap, "--master", "local[1]"]
    places = ["--lake", str(lake), "--checkpoint", str(work / "checkpoint"), "--cache", str(ROOT / ".cache")]
    with log.open("w") as out:
        stream = subprocess.Popen(
            [*command, "--memory", "1g", *places], cwd=ROOT, stdout=out, stderr=out, start_new_session=True
        )
    try:
        yield lake
        assert stream.poll() is None, f"the stream ended\n{log.read_text()[-4000:]}"
    finally:
        stream.send_signal(signal.SIGTERM)
        try:
            stream.wait(ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            stream.kill()
            stream.wait()
            raise
    assert stream.returncode == 0, log.read_text()[-4000:]
