"""The same job, unchanged, on a standalone Spark cluster that loses an executor and through Spark Connect."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from planner.drain.certified import CertifiedPlan, certified
from planner.drain.model.plan_document import read_plan
from spark.fleet.snapshot import write_snapshot
from tests.spark.standalone_spark import WITHIN_S, StandaloneSpark
from tests.unit.spark.fleet_cases import EPOCH, small_state
from tests.waiting import until

pytestmark = [pytest.mark.soak, pytest.mark.spark, pytest.mark.timeout(600)]

FLEET = {f"cluster-{seed}": small_state(seed) for seed in range(3)}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneSpark]:
    with StandaloneSpark(tmp_path_factory.mktemp("standalone")) as spark:
        yield spark


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root: Path = tmp_path_factory.mktemp("fleet")
    write_snapshot(root, FLEET.items(), epoch=EPOCH)
    return root


def test_a_killed_executor_costs_time_and_no_plan(cluster: StandaloneSpark, snapshot: Path, tmp_path: Path) -> None:
    job = _job(cluster.master, snapshot, tmp_path)
    try:
        until(cluster.executors, "an executor runs Python", timeout_s=WITHIN_S)[0].kill()
        assert job.poll() is None, job.communicate()[1]
        _assert_all_planned(job, tmp_path)
    finally:
        job.kill()
        job.wait()


def test_the_job_runs_unchanged_through_spark_connect(cluster: StandaloneSpark, snapshot: Path, tmp_path: Path) -> None:
    job = _job(cluster.connect_server(), snapshot, tmp_path)
    try:
        _assert_all_planned(job, tmp_path)
    finally:
        job.kill()
        job.wait()


def _job(master: str, snapshot: Path, output: Path) -> "subprocess.Popen[str]":
    given = {"--snapshot": snapshot, "--output": output, "--epoch": EPOCH, "--master": master, "--memory": "512m"}
    command = [sys.executable, "-m", "spark.jobs.fleet_plan", *(str(part) for pair in given.items() for part in pair)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _assert_all_planned(job: "subprocess.Popen[str]", output: Path) -> None:
    """Exit status 0, and on disk the very plans that the planner makes in this process."""
    said, errors = job.communicate(timeout=300)
    assert job.returncode == 0, said + errors
    verdicts = json.loads(said.splitlines()[-1])["verdicts"]
    assert [(v["cluster"], v["outcome"]) for v in verdicts] == [(name, "planned") for name in FLEET]
    for name, state in FLEET.items():
        expected = certified(state)
        assert isinstance(expected, CertifiedPlan)
        read = read_plan((output / "plans" / name / "plan.json").read_bytes(), state)
        assert read.measures == expected.measures
        assert read.schedule.after.tolist() == expected.schedule.after.tolist()
