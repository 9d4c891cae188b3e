"""What executors on other machines get: our packages as one zip that plans on its own."""

import subprocess
import sys
from pathlib import Path

from spark.session import package_archive

PLAN_FROM_ZIP = """
import planner.drain.certified as certified
from planner.drain.solve import solve
from spark.warmup import tiny_request
assert ".zip" in certified.__file__, certified.__file__  # compiled kernels must come out of an archive too
print(len(solve(tiny_request()).moves))
"""


def test_the_shipped_packages_plan_on_their_own(tmp_path: Path) -> None:
    archive = package_archive(tmp_path)
    run = subprocess.run(
        [sys.executable, "-c", PLAN_FROM_ZIP],
        env={"PYTHONPATH": str(archive), "XDG_CACHE_HOME": str(tmp_path / "cache")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stdout.strip()) == (0, "1"), run.stderr
