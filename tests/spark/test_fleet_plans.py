"""The fleet job on a real session: one job for all, wrong clusters apart from good ones, two judges, named files."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from planner.drain.certified import CertifiedPlan, certified
from planner.drain.judge import judge
from planner.drain.model.plan_document import read_plan
from spark.fleet.answers import PlanOutcome
from spark.fleet.snapshot import cluster_row, read_snapshot, write_cluster, write_snapshot
from spark.jobs.fleet_plan import FleetReport, plan_fleet
from tests.unit.spark.fleet_cases import EPOCH, small_state, tables_of, with_cell

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(400)]

STATES = {"good-1": small_state(5), "good-2": small_state(6), "old": small_state(7)}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two good clusters, one of an older epoch, one for each of four kinds of nonsense, one with nothing to do."""
    root: Path = tmp_path_factory.mktemp("fleet")
    write_snapshot(root, [(name, STATES[name]) for name in ("good-1", "good-2")], epoch=EPOCH)
    write_snapshot(root, [("old", STATES["old"])], epoch=EPOCH - 1)
    state, tables = small_state(), tables_of(small_state())
    wrong: dict[str, dict[str, Any]] = {
        "nan": {"brokers": with_cell(tables["brokers"], "ingress_bytes_per_s", 2, math.nan)},
        "no-rack": {"brokers": with_cell(tables["brokers"], "rack", 2, None)},
        "stranger": {"partitions": with_cell(tables["partitions"], "replicas", 0, [1001, 1002, 4242])},
    }
    for name, changes in wrong.items():
        changed = {**tables, **changes}
        row = cluster_row(name, state, epoch=EPOCH)
        write_cluster(root, name, row, changed["brokers"], changed["partitions"])
    write_snapshot(root, [("garbage", state)], epoch=EPOCH)
    (root / "partitions" / "garbage.parquet").write_bytes(b"no Parquet at all")
    quiet = with_cell(tables["brokers"], "state", 0, "active")
    write_cluster(root, "quiet", cluster_row("quiet", state, epoch=EPOCH), quiet, tables["partitions"])
    return root


@pytest.fixture(scope="module")
def report(spark_session: "SparkSession", fleet: Path) -> FleetReport:
    """Every cluster split over two tasks but for none: the limit is below all of them."""
    return plan_fleet(
        spark_session, read_snapshot(spark_session, str(fleet)), EPOCH, str(fleet / "out"), split_above=10
    )


def test_a_wrong_cluster_has_a_typed_row_and_spoils_no_other(report: FleetReport) -> None:
    outcomes = {verdict.cluster: verdict.outcome for verdict in report.verdicts}
    refused = dict.fromkeys(("nan", "no-rack", "stranger", "garbage"), PlanOutcome.REFUSED)
    good = dict.fromkeys(("good-1", "good-2"), PlanOutcome.PLANNED)
    assert outcomes == {**refused, **good, "old": PlanOutcome.STALE}
    problems = {verdict.cluster: verdict.problems[0] for verdict in report.verdicts if verdict.problems}
    assert problems["nan"].startswith("figure brokers.ingress_bytes_per_s")
    assert problems["no-rack"].startswith("shape brokers.rack: broker 1003 has no rack")
    assert problems["stranger"].startswith("unknown partitions.replicas")
    assert problems["garbage"] == ("contradiction clusters.partitions: 0 rows were read, the snapshot says 90")
    assert not report.planned


def test_stale_input_is_refused_by_epoch(report: FleetReport, fleet: Path) -> None:
    old = next(verdict for verdict in report.verdicts if verdict.cluster == "old")
    assert old.reason == "asked in epoch 7, the snapshot is of epoch 6: observe again, then ask again"
    assert sorted(p.name for p in (fleet / "out" / "plans").iterdir()) == ["good-1", "good-2"]


@pytest.mark.parametrize("name", ["good-1", "good-2"])
def test_published_plans_are_the_planners_and_hold_what_they_promise(
    report: FleetReport, fleet: Path, name: str
) -> None:
    files = fleet / "out" / "plans" / name
    read = read_plan((files / "plan.json").read_bytes(), STATES[name])
    expected = certified(STATES[name])
    assert isinstance(expected, CertifiedPlan)
    assert read.measures == expected.measures
    assert judge(STATES[name], read.schedule).measures == read.measures
    verdict = next(verdict for verdict in report.verdicts if verdict.cluster == name)
    assert verdict.entries == len(read.schedule)
    manifest = json.loads((files / "manifest.json").read_text())
    assert (manifest["cluster"], manifest["epoch"]) == (name, EPOCH)
    rollback = json.loads((files / "rollback-0001.json").read_text())["partitions"]
    assert {e["topic"] for e in rollback} <= set(STATES[name].partitions.topics)


def test_rows_that_spark_packs_give_the_same_files(
    spark_session: "SparkSession", fleet: Path, report: FleetReport, tmp_path: Path
) -> None:
    """As of a Delta table, or of files that mix clusters: nothing is read from row groups."""
    frames = replace(read_snapshot(spark_session, str(fleet)), root=None)
    again = plan_fleet(spark_session, frames, EPOCH, str(tmp_path / "out"))
    assert [(v.cluster, v.outcome, v.problems, v.values, v.bounds) for v in again.verdicts] == [
        (v.cluster, v.outcome, v.problems, v.values, v.bounds) for v in report.verdicts
    ]
    for name in ("good-1", "good-2"):
        one, other = (
            {f.name: f.read_bytes() for f in (out / "out" / "plans" / name).iterdir()} for out in (fleet, tmp_path)
        )
        assert one == other


def test_a_job_that_was_overtaken_leaves_the_newer_plan_alone(
    spark_session: "SparkSession", fleet: Path, report: FleetReport
) -> None:
    assert report.tables
    manifest = fleet / "out" / "plans" / "good-1" / "manifest.json"
    newer = json.loads(manifest.read_text()) | {"epoch": EPOCH + 1}
    before = manifest.read_text()
    manifest.write_text(json.dumps(newer))
    snapshot = read_snapshot(spark_session, str(fleet))
    again = plan_fleet(spark_session, snapshot, {"good-1": EPOCH, "nobody": EPOCH}, str(fleet / "out"))
    found = {verdict.cluster: (verdict.outcome, verdict.reason) for verdict in again.verdicts}
    assert found["good-1"][0] is PlanOutcome.STALE
    assert "a plan of epoch 8 is published already" in found["good-1"][1]
    assert found["nobody"][0] is PlanOutcome.REFUSED
    assert json.loads(manifest.read_text()) == newer
    manifest.write_text(before)
