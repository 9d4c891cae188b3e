"""`make demo SHORT=1` from a folder of its own: what docs/demo.md promises happens, and nothing is left."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.e2e.living_cluster import KAFKA_DIR

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]


def test_the_demo_loses_nothing_and_leaves_nothing_running(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    report = tmp_path / "report.json"
    ours = {k: v for k, v in os.environ.items() if not k.startswith("KEDGE_")}
    environment = {**ours, "KEDGE_KAFKA_DIR": str(KAFKA_DIR.absolute()), "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, "-m", "controlplane.cli", "demo", "--short", "--plain", "--report", str(report)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    said = json.loads(report.read_text())
    assert said["records"]["acknowledged"] == said["records"]["read"] > 0
    assert {k: said["records"][k] for k in ("lost", "duplicated", "failed")} == dict.fromkeys(
        ("lost", "duplicated", "failed"), 0
    )
    assert said["under_min_isr_s"] == 0
    assert said["observer_samples"] > 0
    assert {plan["engine"] for plan in said["plans"]} == {"spark"}
    assert len(said["replaced"]) == 6
    (rebalance,) = said["rebalances"]
    assert rebalance["rates"].startswith("write rates of "), "planned with measured rates"
    assert "rebalance: " in ran.stdout
    assert _headlines(ran.stdout) == _headlines((ROOT / "docs" / "demo.md").read_text())
    assert _left_of(tmp_path) == [], "the demo left something running"


def _headlines(text: str) -> list[str]:
    """Of the chapters, as the demo prints them."""
    return re.findall(r"^== \d+\. (.+?)\s*$", text, flags=re.MULTILINE)


def _left_of(folder: Path) -> list[str]:
    """Processes that were started with this folder in their environment or as their own."""
    found = []
    for candidate in psutil.process_iter():
        try:
            words = " ".join((*candidate.environ().values(), candidate.cwd()))
        except psutil.Error:
            continue
        if str(folder) in words and candidate.pid != os.getpid():
            found.append(f"{candidate.pid}: {' '.join(candidate.cmdline())[:120]}")
    return found
