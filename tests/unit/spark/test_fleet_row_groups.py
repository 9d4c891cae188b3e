"""Where a cluster's rows lie in a snapshot's files, and that a task plans the same from there as from packs."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.pandas.types import to_arrow_schema

from spark.fleet.answers import AnswerRole, PlanAnswer, PlanOutcome
from spark.fleet.kernel import answer_of
from spark.fleet.requested_clusters import asked_of
from spark.fleet.row_groups import TABLES, RowGroup, apart, indexed, rows_of
from spark.fleet.schemas import PACKS
from spark.fleet.snapshot import Snapshot, write_snapshot
from tests.unit.spark.fleet_cases import EPOCH, named, packs_for, small_state, tables_of, with_cell

STATES = {"a": small_state(5), "b": small_state(6)}
NO_FRAMES: Any = None


def _snapshot(root: Path) -> Path:
    write_snapshot(root, STATES.items(), epoch=EPOCH)
    return root


def _row_groups(root: Path) -> tuple[RowGroup, ...] | None:
    return apart([row for table in TABLES for row in indexed(str(root), table)])


def _located(row_groups: tuple[RowGroup, ...], cluster: str) -> pa.Table:
    rows = [one for one in row_groups if one.cluster == cluster]
    named_columns = [{n: getattr(one, n) for n in ("cluster", "table", "path", "row_group")} for one in rows]
    return pa.Table.from_pylist(named_columns, schema=to_arrow_schema(PACKS))


def _answer(packs: pa.Table, cluster: str) -> PlanAnswer:
    return replace(answer_of(cluster, AnswerRole.WHOLE, EPOCH, packs), seconds={}, start_s=None, end_s=None)


def _rewritten(root: Path, table: str, rows: pa.Table, **how: Any) -> None:
    """One file in place of all."""
    for file in (root / table).iterdir():
        file.unlink()
    pq.write_table(rows, root / table / "all.parquet", **how)


def test_a_task_reads_the_files_and_answers_as_from_packs(tmp_path: Path) -> None:
    row_groups = _row_groups(_snapshot(tmp_path))
    assert row_groups is not None
    for cluster, state in STATES.items():
        found = _answer(_located(row_groups, cluster), cluster)
        assert found.outcome is PlanOutcome.PLANNED
        assert found == _answer(packs_for(cluster, state, tables_of(state)), cluster)


def test_who_is_asked_for_is_seen_in_the_files(tmp_path: Path) -> None:
    row_groups = _row_groups(_snapshot(tmp_path))
    snapshot = Snapshot(clusters=NO_FRAMES, brokers=NO_FRAMES, partitions=NO_FRAMES)
    found = [(one.cluster, one.found_epoch, one.partitions) for one in asked_of(snapshot, row_groups, EPOCH)]
    assert found == [("a", EPOCH, 90), ("b", EPOCH, 90)]
    (unknown,) = asked_of(snapshot, row_groups, {"c": EPOCH})
    assert (unknown.found_epoch, unknown.partitions) == (None, 0)


def test_small_tables_may_share_a_row_group(tmp_path: Path) -> None:
    root = _snapshot(tmp_path)
    brokers = pa.concat_tables([named(name, tables_of(state)["brokers"]) for name, state in STATES.items()])
    _rewritten(root, "brokers", brokers)
    row_groups = _row_groups(root)
    assert row_groups is not None
    assert _answer(_located(row_groups, "b"), "b").outcome is PlanOutcome.PLANNED


def test_a_broker_in_a_state_nobody_knows_is_to_be_asked_for(tmp_path: Path) -> None:
    root = _snapshot(tmp_path)
    odd = with_cell(with_cell(tables_of(STATES["a"])["brokers"], "state", 0, "active"), "state", 1, None)
    _rewritten(root, "brokers", named("a", odd))
    assert [row["to_empty"] for row in indexed(str(root), "brokers")] == [True]


def test_partitions_of_many_clusters_in_one_row_group_are_left_to_spark(tmp_path: Path) -> None:
    root = _snapshot(tmp_path)
    rows = tables_of(STATES["a"])["partitions"]
    many = [named(f"cluster-{n}", rows) for n in range(4)]
    _rewritten(root, "partitions", pa.concat_tables(many))
    assert _row_groups(root) is None
    _rewritten(root, "partitions", pa.concat_tables(many), row_group_size=rows.num_rows)
    row_groups = _row_groups(root)
    assert row_groups is not None
    found = [(g.cluster, g.row_group) for g in row_groups if g.table == "partitions"]
    assert found == [(f"cluster-{n}", n) for n in range(4)]


def test_a_damaged_file_has_no_rows_and_its_cluster_is_refused_alone(tmp_path: Path) -> None:
    root = _snapshot(tmp_path)
    row_groups = _row_groups(root)
    assert row_groups is not None
    (root / "partitions" / "a.parquet").write_bytes(b"no Parquet at all")
    assert [row["cluster"] for row in indexed(str(root), "partitions")] == ["b"]
    refused = _answer(_located(row_groups, "a"), "a")
    assert refused.outcome is PlanOutcome.REFUSED
    assert "0 rows were read, the snapshot says 90" in refused.reason
    assert _answer(_located(row_groups, "b"), "b").outcome is PlanOutcome.PLANNED


def test_what_a_file_lacks_is_null_and_what_it_has_more_is_left(tmp_path: Path) -> None:
    root = _snapshot(tmp_path)
    rows = named("a", tables_of(STATES["a"])["partitions"].drop_columns(["read_bytes_per_s"]))
    _rewritten(root, "partitions", rows.append_column("more", pa.array([1] * rows.num_rows)))
    found = rows_of(str(root / "partitions" / "all.parquet"), 0, "partitions", "a")
    assert found.column_names == [name for name in TABLES["partitions"].names if name != "cluster"]
    assert found["read_bytes_per_s"].null_count == found.num_rows == 90


def test_files_that_do_not_name_their_cluster_are_left_to_spark(tmp_path: Path) -> None:
    root = _snapshot(tmp_path)
    _rewritten(root, "partitions", tables_of(STATES["a"])["partitions"])
    assert _row_groups(root) is None
    assert apart(indexed("no-scheme-of-ours://bucket/fleet", "partitions")) is None


def test_what_spark_hides_is_no_part_of_a_table(tmp_path: Path) -> None:
    root = _snapshot(tmp_path)
    (root / "partitions" / "_temporary").mkdir()
    (root / "partitions" / "_temporary" / "half.parquet").write_bytes(b"half")
    (root / "partitions" / "_SUCCESS").touch()
    assert [row["cluster"] for row in indexed(str(root), "partitions")] == ["a", "b"]
