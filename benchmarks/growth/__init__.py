"""Time and memory of planning one cluster against its partitions, measured and drawn.

python -m benchmarks growth        writes docs/images/growth.svg
"""

import json
import subprocess
import sys
from typing import Any

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000, 2_000_000, 5_000_000)
LIMIT_S = 1_800


def main() -> dict[str, Any]:
    """Each size in a process of its own, so that the peak of memory is that size's alone."""
    from benchmarks.growth.chart import draw

    points = []
    for size in SIZES:
        command = [sys.executable, "-m", "benchmarks.growth.point", str(size)]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        if ran.returncode:
            raise RuntimeError(f"{size:,} partitions could not be planned:\n{ran.stderr[-2000:]}")
        points.append(json.loads(ran.stdout.splitlines()[-1]))
        print(points[-1])
    return {"points": points, "image": str(draw(points))}
