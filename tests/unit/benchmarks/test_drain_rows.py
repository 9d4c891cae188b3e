"""What the benchmark of drains says about a plan, and which rivals' answers it may compare."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.drain.report import worst
from benchmarks.drain.rows import judged
from benchmarks.drain.states import state
from benchmarks.rivals import tools
from benchmarks.rivals.report import Entry, markdown
from benchmarks.rivals.tools import Answer, NoPlan, Rival, ask, schedule_of
from planner.drain.bounds import bounds_of
from planner.drain.model.state import ClusterState, Int32s


def next_of_the_rack(drawn: ClusterState) -> Int32s:
    """A plain drain: the next broker of the same rack takes everything."""
    lists = drawn.partitions.replicas.copy()
    lists[lists == 0] = 3
    return lists


def test_a_plain_drain_moves_the_least_bytes_breaks_no_rack_and_takes_longer_than_the_bound() -> None:
    drawn = state("c12")
    schedule = schedule_of(drawn, Answer(lists=next_of_the_rack(drawn), seconds=0.1))
    row = judged("c12", None, drawn, schedule, bounds_of(drawn), plan_s=0.1)
    assert row.bytes == 1.0
    assert row.copies == len(schedule) == 271
    assert row.makespan > 1.5
    assert "H2" not in row.broken
    assert row.left_behind == 0


def test_a_plan_that_leaves_a_replica_behind_and_one_that_leaves_the_rack_are_told() -> None:
    drawn = state("c12")
    lists = next_of_the_rack(drawn)
    first, second = np.flatnonzero((drawn.partitions.replicas == 0).any(axis=1))[:2]
    lists[first] = drawn.partitions.replicas[first]
    free = next(b for b in (1, 4, 7, 10) if b not in lists[second])
    lists[second][lists[second] == 3] = free
    row = judged("c12", None, drawn, schedule_of(drawn, Answer(lists, 0.0)), bounds_of(drawn), plan_s=0.0)
    assert row.left_behind == 1
    assert row.broken["H2"] == 1


def test_the_worst_of_each_measure_is_told_and_release_counts_only_where_it_is_asked() -> None:
    drawn = state("c12")
    schedule = schedule_of(drawn, Answer(next_of_the_rack(drawn), 0.0))
    row = judged("c12", None, drawn, schedule, bounds_of(drawn), plan_s=2.0)
    random = replace(row, state="rc40-b0", release=9.0, plan_s=1.0)
    figures = worst([row, random])
    assert figures["release"] == round(row.release, 4)
    assert figures["release_reported"] == 9.0
    assert figures["plan_s"] == 2.0
    assert "makespan" in figures["missed"]
    assert "bytes" not in figures["missed"]


def test_a_tool_that_fails_or_takes_too_long_has_no_plan_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = state("c12")
    (tmp_path / "fails.py").write_text("raise SystemExit('no room in rack a')")
    (tmp_path / "waits.py").write_text("import threading; threading.Event().wait()")
    monkeypatch.setattr(tools, "INSIDE", tmp_path)
    python = Path("python3")
    with pytest.raises(NoPlan, match="no room in rack a"):
        ask(Rival("fails", "fails.py", "x"), python, drawn, tmp_path, limit_s=30)
    with pytest.raises(NoPlan, match="no plan in 1 s"):
        ask(Rival("waits", "waits.py", "x"), python, drawn, tmp_path, limit_s=1)


def test_a_tools_answer_is_read_by_topic_and_partition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = state("c12")
    (tmp_path / "swaps.py").write_text(
        "import json, sys\n"
        "state = json.load(open(sys.argv[2]))\n"
        "asked = [dict(p, replicas=p['replicas'][::-1]) for p in state['partitions']][::-1]\n"
        "json.dump({'seconds': 0.5, 'partitions': asked}, open(sys.argv[3], 'w'))\n"
    )
    monkeypatch.setattr(tools, "INSIDE", tmp_path)
    answer = ask(Rival("swaps", "swaps.py", "x"), Path("python3"), drawn, tmp_path, limit_s=60)
    assert answer.seconds == 0.5
    assert np.array_equal(answer.lists, drawn.partitions.replicas[:, ::-1])


def test_the_table_shows_a_tool_without_a_plan_as_such() -> None:
    lines = markdown([Entry("c60", "kafka-utils genetic", None, "no plan in 120 s")]).splitlines()
    assert len({line.count("|") for line in lines}) == 1
    assert lines[-1].endswith("| no plan in 120 s |")
