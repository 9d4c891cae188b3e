"""The fleet job: drain plans of all clusters that need one, from a snapshot to published files. Wiring only.

    python -m spark.jobs.fleet_plan --snapshot DIR --output DIR --epoch N [--master spark://...|sc://...]

Below the output: `plans/<cluster>/` with the files; `tables/<run>/answers` with a row of ANSWERS per task.
"""

import argparse
import json
import sys
import tempfile
import time
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from spark.fleet.answers import PlanOutcome
from spark.fleet.outcomes import ClusterOutcome, plans_with_bounds, verdict_of, verdicts_of
from spark.fleet.plans import answered
from spark.fleet.publishing import published
from spark.fleet.rates import rates_of
from spark.fleet.requested_clusters import asked_of, tasks_of
from spark.fleet.row_groups import row_groups_of
from spark.fleet.snapshot import Snapshot, read_snapshot
from spark.lake_jars import lake_jars, lake_settings
from spark.metrics.lake import Lake
from spark.metrics.windows import HOUR_S, partition_windows
from spark.session import SparkSettings, build_session, close_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SPLIT_ABOVE = 500_000
"""Partitions above which a cluster's bounds get a task of their own (benchmarks.fleet)."""

SETTINGS = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
    "spark.sql.files.maxPartitionBytes": str(16 * 2**20),
    "spark.sql.files.openCostInBytes": str(2**20),
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.debug.maxToStringFields": "100",
}
"""Packs of 20,000 rows, whose bytes are not added up after each row (a tenth of the JVM's work): a batch of 2 GiB of
packs would be one cluster with 25 M partitions. Enough scan tasks for the cores, small files by the dozen; broadcasts
are said where they are meant; no warning that a plan is too wide to be printed.
"""


COMPILER = (
    "-XX:+UseParallelGC -XX:Tier4InvocationThreshold=20000 -XX:Tier4MinInvocationThreshold=5000"
    " -XX:Tier4CompileThreshold=60000 -XX:Tier4BackEdgeThreshold=400000"
)
"""Options of the JVM. Java's optimising compiler is worth it for what runs millions of times; at its own limits it also
compiles what Spark runs once per query, a fifth of the job's processor time.
"""


@dataclass(frozen=True, slots=True)
class FleetReport:
    """`verdicts` by cluster name. `seconds` of each step of the job. `tables`: where this run left its tables."""

    verdicts: tuple[ClusterOutcome, ...]
    seconds: Mapping[str, float]
    tables: str

    @property
    def planned(self) -> bool:
        """Every cluster that was asked for has a published plan."""
        return all(verdict.outcome is PlanOutcome.PLANNED for verdict in self.verdicts)


def plan_fleet(
    session: "SparkSession",
    snapshot: Snapshot,
    asked: int | Mapping[str, int],
    output: str,
    *,
    split_above: int = SPLIT_ABOVE,
) -> FleetReport:
    """Plans, judges twice and publishes; a verdict per cluster. `asked` as in spark.fleet.requested_clusters.asked_of.

    What is wrong with one cluster is its verdict and never another's. Raises what Spark raises when the job as a whole
    fails; what was published by then is whole and valid.
    """
    seconds: dict[str, float] = {}
    output = output.rstrip("/")
    tables = f"{output}/tables/{uuid.uuid4()}"
    with _timed(seconds, "ask"):
        row_groups = None if snapshot.root is None else row_groups_of(session, snapshot.root)
        everyone = asked_of(snapshot, row_groups, asked)
        refused = [one.refusal for one in everyone if one.refusal is not None]
        chosen = [one for one in everyone if one.refusal is None]
    verdicts = [verdict_of(answer) for answer in refused]
    if chosen:
        names = {one.cluster for one in chosen}
        of_chosen = snapshot.of(sorted(names))
        lying = None if row_groups is None else [one for one in row_groups if one.cluster in names]
        with _timed(seconds, "plan"):
            tasks, count = tasks_of(session, chosen, split_above=split_above)
            answers = _stored(session, answered(session, of_chosen, lying, tasks, count), f"{tables}/answers")
            planned = verdicts_of(answers)
            unheard = names - {verdict.cluster for verdict in planned}
            planned += [verdict_of(one.unheard) for one in chosen if one.cluster in unheard]
        with _timed(seconds, "publish"):
            good = [verdict.cluster for verdict in planned if verdict.outcome is PlanOutcome.PLANNED]
            overtaken = _publish(answers, good, output)
        verdicts += [_final(verdict, overtaken) for verdict in planned]
    return FleetReport(tuple(sorted(verdicts, key=lambda verdict: verdict.cluster)), seconds, tables)


def _publish(answers: "DataFrame", clean: Collection[str], output: str) -> dict[str, int]:
    """Writes the files; cluster -> the later epoch that stands there already."""
    rows = published(plans_with_bounds(answers).where(_in(clean)), f"{output}/plans").collect() if clean else []
    return {row["cluster"]: row["newer_epoch"] for row in rows if row["newer_epoch"] is not None}


def _final(verdict: ClusterOutcome, overtaken: Mapping[str, int]) -> ClusterOutcome:
    if verdict.cluster in overtaken:
        newer = overtaken[verdict.cluster]
        reason = f"a plan of epoch {newer} is published already, this one is of epoch {verdict.epoch}: left alone"
        return replace(verdict, outcome=PlanOutcome.STALE, reason=reason)
    return verdict


def _in(names: Collection[str]) -> str:
    """SQL: rows of these clusters."""
    quoted = ", ".join("'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'" for name in names)
    return f"cluster IN ({quoted})" if names else "false"


def _stored(session: "SparkSession", frame: "DataFrame", path: str) -> "DataFrame":
    """Written and read back: computed once, whatever executor is lost later."""
    frame.write.mode("overwrite").parquet(path)
    return session.read.schema(frame.schema).parquet(path)


@contextmanager
def _timed(seconds: dict[str, float], step: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    seconds[step] = round(time.monotonic() - began, 3)


def main(argv: Sequence[str] | None = None) -> int:
    """The last line printed is JSON. Exit status 0 when every cluster is planned, 1 when one is not."""
    options = _parsed(argv)
    asked = dict(_epochs(options.cluster, options.epoch)) or options.epoch
    with tempfile.TemporaryDirectory() as work:
        session = build_session(_session_settings(Path(work), options))
        try:
            snapshot = read_snapshot(session, options.snapshot, kind=options.format)
            if options.lake:
                windows = partition_windows(Lake(session, options.lake).windows(HOUR_S))
                snapshot = replace(snapshot, rates=rates_of(windows))
            report = plan_fleet(session, snapshot, asked, options.output, split_above=options.split_above)
        finally:
            close_session(session)
    for verdict in report.verdicts:
        print(f"{verdict.cluster} {verdict.outcome.value} {verdict.entries} entries {verdict.reason}".rstrip())
    print(json.dumps({"verdicts": [asdict(verdict) for verdict in report.verdicts], "seconds": dict(report.seconds)}))
    return 0 if report.planned else 1


def _epochs(clusters: Sequence[str], epoch: int) -> Iterator[tuple[str, int]]:
    """`orders` -> the common epoch, `orders=17` -> its own."""
    for text in clusters:
        name, _, own = text.partition("=")
        yield name, int(own) if own else epoch


def _session_settings(work: Path, options: argparse.Namespace) -> SparkSettings:
    """Delta's jars only where a Delta table is read."""
    lake = lake_settings(lake_jars(options.cache)) if options.lake or options.format == "delta" else {}
    return SparkSettings(
        work_dir=work,
        master=options.master,
        app_name="kedge-fleet-plan",
        driver_memory=options.memory,
        compiler=COMPILER,
        extra={**lake, **SETTINGS},
    )


def _parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m spark.jobs.fleet_plan", description="Drain plans of a fleet")
    parser.add_argument("--snapshot", required=True, help="path or URL with clusters/, brokers/ and partitions/")
    parser.add_argument("--output", required=True, help="path or URL that every Spark worker can write")
    parser.add_argument("--epoch", required=True, type=int, help="epoch of the asker; other snapshots are refused")
    parser.add_argument("--cluster", action="append", default=[], help="NAME or NAME=EPOCH; default: all in need")
    parser.add_argument("--format", default="parquet", choices=("parquet", "delta"), help="of the snapshot's tables")
    parser.add_argument("--lake", help="metric lake whose hourly windows give the rates")
    parser.add_argument("--master", default="local[*]", help="Spark master or sc://HOST:PORT")
    parser.add_argument("--memory", default="2g", help="memory of the driver's JVM")
    parser.add_argument("--split-above", type=int, default=SPLIT_ABOVE, help="partitions; see docs/planning.md")
    parser.add_argument("--cache", type=Path, default=Path(".cache"), help="where `spark/jars` is")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
