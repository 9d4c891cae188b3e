"""What a worker writes goes into its log without secrets, and is taken off it even where it cannot be kept."""

import sys
from pathlib import Path

import pytest

from controlplane.runtime.redaction import redacted
from events.secrets import forget, remember
from spark.frames import FrameBroken
from spark.process import WorkerLaunch, WorkerProcess

CANARY = "c4nary-of-the-metrics-bucket"
SPEAKS = f"""
import os, subprocess, sys
print("spark.hadoop.fs.s3a.secret.key={CANARY}")
print("plain words", flush=True)
sys.stderr.write("-----BEGIN RSA PRIVATE KEY-----\\nMIIEc4nary\\n-----END RSA PRIVATE KEY-----\\n")
sys.stderr.flush()
subprocess.run([sys.executable, "-c", "print('a JVM says {CANARY} ü')"])
os.write(1, b"not utf-8 \\xff, and no end of a line")
"""


def run(folder: Path, script: str, log: Path) -> None:
    """A worker that says this and ends, and everything about it."""
    launch = WorkerLaunch(folder / "work", log, redacted, command=(sys.executable, "-c", script))
    worker = WorkerProcess.start(launch)
    with pytest.raises(FrameBroken, match="is gone"):  # else it does not end: is nobody taking what it writes?
        worker.next_frame(30)
    worker.stop(grace_s=0)


def test_the_log_of_a_worker_and_of_what_it_starts_has_no_secret(tmp_path: Path) -> None:
    remember(CANARY)
    try:
        run(tmp_path, SPEAKS, tmp_path / "spark.log")
        run(tmp_path, SPEAKS, tmp_path / "spark.log")
    finally:
        forget(CANARY)
    text = (tmp_path / "spark.log").read_text()
    assert CANARY not in text
    assert "MIIEc4nary" not in text
    assert "secret.key=***" in text
    for said in ("plain words", "a JVM says *** ü", "not utf-8 \N{REPLACEMENT CHARACTER}, and no end of a line"):
        assert text.count(said) == 2, "both runs are in it, whole"


def test_a_log_that_cannot_be_written_does_not_stop_the_worker(tmp_path: Path) -> None:
    run(tmp_path, "print('x' * 1_000_000 * 3)", tmp_path / "nowhere" / "spark.log")


@pytest.mark.parametrize("lines", [1, 40_000])
def test_however_much_is_written_every_line_arrives(tmp_path: Path, lines: int) -> None:
    run(tmp_path, f"for n in range({lines}): print('line', n)", tmp_path / "spark.log")
    assert (tmp_path / "spark.log").read_text().splitlines() == [f"line {n}" for n in range(lines)]
