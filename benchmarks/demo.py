"""The main job on real parts, as `make demo` runs it: its own report is the figures."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

COMMAND = (sys.executable, "-m", "controlplane.cli", "demo")
FLOORS = {
    "lost": 0,
    "duplicated": 0,
    "under_min_isr_s": 0,
    "wall_s": 480,
    "overhead_ratio": 0.2,
}


def main() -> dict[str, object]:
    """Floors: nothing lost, nothing twice, no second under min ISR, 8 minutes, overhead under 20 %.

    Raises RuntimeError when the demo fails.
    """
    with tempfile.TemporaryDirectory(prefix="kedge-benchmark-") as directory:
        report = Path(directory) / "report.json"
        ended = subprocess.run([*COMMAND, "--report", str(report)], stdout=sys.stderr, check=False)
        if ended.returncode or not report.exists():
            raise RuntimeError(f"the demo failed with exit status {ended.returncode}; what it said is above")
        figures: dict[str, Any] = json.loads(report.read_text())
    return {**figures, "floors": FLOORS}
