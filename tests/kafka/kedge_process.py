"""The command line in a process of its own, begun before a test asks what came of it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_ROOT = Path(__file__).parents[2]


@contextmanager
def begun(cwd: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """`kedge ARGUMENTS` at work, in a directory that has no server. It does not outlive the block."""
    environ = {k: v for k, v in os.environ.items() if not k.startswith("KEDGE_")}
    process = subprocess.Popen(
        [sys.executable, "-m", "controlplane.cli", *arguments],
        cwd=cwd,
        env={**environ, "PYTHONPATH": str(_ROOT), "KEDGE_HOME": str(cwd / "nobody")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()
