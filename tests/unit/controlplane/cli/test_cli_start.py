"""The command line starts fast: each command of a person or a pipeline waits for its imports first."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[4]

SLOW = {"confluent_kafka", "fastapi", "kafka", "kazoo", "numba", "numpy", "pyspark", "scipy", "sqlalchemy", "sqlmodel"}
"""What a server needs, and who asks it something over HTTP does not. Together they were three quarters of a start."""


def test_a_command_loads_nothing_of_what_only_a_server_needs() -> None:
    """Found by a constant of a schema that was kept beside the decisions about it: the whole converger came with it."""
    done = subprocess.run(
        [sys.executable, "-c", "import sys, controlplane.cli.main; print(*sys.modules)"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    assert "controlplane.cli.client" in loaded
    assert sorted(loaded & SLOW) == []
    inside = ("controlplane.cluster.commands", "controlplane.converger", "events.facts", "planner.drain")
    assert sorted(name for name in loaded if name.startswith(inside)) == []
