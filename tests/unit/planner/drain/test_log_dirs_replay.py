"""Log directories in the replay, on paper: what fills them at which instant, and what the judge makes of it."""

from dataclasses import replace

import numpy as np
import pytest

from planner.drain.judge import judge
from planner.drain.model.plan import Schedule
from planner.drain.model.state import NO_BROKER, ClusterState
from planner.drain.replay import PlanRule, Violation, replay
from tests.unit.planner.drain.dir_cases import in_dirs, with_dirs
from tests.unit.planner.drain.judge_cases import ACTIVE, OUTGOING, cluster, plan


def two_logs(*, limit: float = 0.8) -> ClusterState:
    """Row 0 leaves two logs of 100 and 60; row 1 has /a (200, 50 in use) and /b (100, nothing); 10 bytes/s."""
    state = cluster("aa", [OUTGOING, ACTIVE], [[0], [0]], size=[100, 60], disk_limit=limit)
    return with_dirs(state, {1: [("/a", 200, 50), ("/b", 100, 0)]})


def moved(state: ClusterState, first: str | None, second: str | None, **limits: int) -> Schedule:
    moves = [(0, [1], NO_BROKER), (1, [1], NO_BROKER)]
    return in_dirs(state, plan(state, moves, **limits), [[first], [second]])


def broken(state: ClusterState, schedule: Schedule) -> list[Violation]:
    return list(replay(state, schedule).violations)


def test_directories_end_as_full_as_what_was_there_and_came() -> None:
    state = two_logs()
    run = replay(state, moved(state, "/a", "/b"))
    assert not run.violations
    assert run.log_dirs_after.tolist() == pytest.approx([150 / 200, 60 / 100])


def test_a_directory_beyond_the_limit_is_a_broken_rule_though_its_broker_has_room() -> None:
    state = two_logs()
    (violation,) = broken(state, moved(state, "/a", "/a"))
    assert (violation.rule, violation.subject) == (PlanRule.DISK, "broker 1002 log dir /a")
    assert violation.detail == "210 bytes in use or arriving, 160 allowed"


def test_it_is_told_for_the_instant_it_happens() -> None:
    """One at a time: the second log starts when the first is through, after 10 s."""
    state = two_logs()
    (violation,) = broken(state, moved(state, "/a", "/a", slots_in=1))
    assert violation.at_s == pytest.approx(10.0)


def test_the_last_byte_of_the_limit_may_be_used() -> None:
    state = two_logs(limit=0.75)
    assert not broken(state, moved(state, "/a", "/b"))
    assert broken(two_logs(limit=0.7499), moved(state, "/a", "/b"))


def test_a_replica_that_leaves_makes_room_only_when_its_move_is_through() -> None:
    """Row 1 gives its log of 100 to row 2 while one of 60 comes to the same directory: for 10 s both are held."""
    state = cluster("aaa", [OUTGOING, ACTIVE, ACTIVE], [[0], [1]], size=[60, 100], disk_limit=0.8)
    state = with_dirs(state, {1: [("/a", 150, 100), ("/b", 500, 0)]}, {(1, 1): "/a"})
    at_once = in_dirs(state, plan(state, [(0, [1], 0), (1, [2], 1)]), [["/a"], [None]])
    assert [v.detail for v in broken(state, at_once)] == ["160 bytes in use or arriving, 120 allowed"]
    after = in_dirs(state, plan(state, [(1, [2], 1), (0, [1], 1)], slots_out=1), [[None], ["/a"]])
    assert not [v for v in broken(state, after) if v.rule == PlanRule.DISK]
    assert replay(state, after).log_dirs_after.tolist() == pytest.approx([60 / 150, 0.0])


def test_a_copy_that_names_no_directory_of_its_target_counts_on_the_broker_alone() -> None:
    state = two_logs()
    run = replay(state, moved(state, None, None))
    assert not run.violations
    assert run.log_dirs_after.tolist() == pytest.approx([50 / 200, 0.0])
    assert run.disk_after[1] == pytest.approx(160 / 300)


def test_the_only_directory_of_a_target_is_the_one_that_fills() -> None:
    state = cluster("aa", [OUTGOING, ACTIVE], [[0]], size=100, disk_limit=0.8)
    state = with_dirs(state, {1: [("/only", 200, 61)]})
    (violation,) = broken(state, plan(state, [(0, [1], 0)]))
    assert violation.subject == "broker 1002 log dir /only"


def test_a_directory_of_another_broker_is_no_target() -> None:
    state = with_dirs(two_logs(), {0: [("/x", 900, 0)], 1: [("/a", 200, 50), ("/b", 100, 0)]})
    strange = in_dirs(state, plan(state, [(0, [1], 0), (1, [1], 0)]), [["/a"], ["/b"]])
    assert strange.log_dirs is not None
    strange = replace(strange, log_dirs=np.array([[0], [2]], dtype=np.int32))
    (violation,) = broken(state, strange)
    assert (violation.rule, violation.subject) == (PlanRule.TARGETS, "t-0")
    assert violation.detail == "broker 1002 is to use broker 1001 log dir /x"


def test_the_disk_of_the_certificate_is_the_fullest_directory() -> None:
    state = two_logs()
    disk = judge(state, moved(state, "/a", "/b")).measures.disk
    assert disk.value == pytest.approx(0.75)
    assert disk.bound <= disk.value


def test_its_bound_is_never_below_the_fullest_directory_now() -> None:
    state = with_dirs(two_logs(), {1: [("/a", 200, 50), ("/b", 300, 270)]})
    disk = judge(state, moved(state, "/a", "/a")).measures.disk
    assert (disk.value, disk.bound) == (pytest.approx(1.05), pytest.approx(0.9))
