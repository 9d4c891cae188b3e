"""A directory for every new replica: what is chosen, and what happens when whole logs do not fit."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings, strategies as st

from planner.drain.certified import CertifiedPlan, certified
from planner.drain.model.plan import Schedule
from planner.drain.model.state import NO_BROKER, ClusterState
from planner.drain.replay import PlanRule, replay
from planner.drain.solver import Unsolvable, solve
from planner.drain.solver.dirs import in_log_dirs, without
from tests.unit.planner.drain.dir_cases import Dirs, drawn, paths_of, with_dirs
from tests.unit.planner.drain.judge_cases import ACTIVE, DEAD, OUTGOING, cluster, plan


def one_target(sizes: list[int], dirs: Dirs) -> tuple[ClusterState, Schedule]:
    """Everything on broker row 0 goes to row 1, which has these directories; no limit but their size."""
    state = cluster("aa", [OUTGOING, ACTIVE], [[0]] * len(sizes), size=sizes, disk_limit=1.0)
    state = with_dirs(state, dirs)
    return state, plan(state, [(n, [1], 0) for n in range(len(sizes))])


def test_the_largest_goes_first_into_the_directory_that_ends_emptiest() -> None:
    state, schedule = one_target([10, 60, 20], {1: [("/a", 100, 0), ("/b", 200, 50)]})
    placed = in_log_dirs(state, schedule)
    # 60: /a would end at 0.60, /b at 0.55; 20: /a at 0.20, /b at 0.65; 10: /a at 0.30, /b at 0.60
    assert paths_of(state, placed.schedule) == {(1, 1): "/b", (2, 1): "/a", (0, 1): "/a"}


def test_a_target_with_one_directory_needs_no_name() -> None:
    state, schedule = one_target([10], {1: [("/a", 100, 0)]})
    assert in_log_dirs(state, schedule).schedule.log_dirs is None


def test_targets_whose_directories_are_not_known_are_left_to_kafka() -> None:
    state, schedule = one_target([10], {0: [("/a", 100, 0), ("/b", 100, 0)]})
    assert in_log_dirs(state, schedule).schedule.log_dirs is None
    assert in_log_dirs(replace(state, log_dirs=None), schedule).schedule is schedule


def test_the_tightest_fit_is_tried_when_the_emptiest_does_not_work_out() -> None:
    """Emptiest: 60 in a, 50 in b, and no room for the other 50. Where it just fits: 60 in b, both others in a."""
    state, schedule = one_target([60, 50, 50], {1: [("/a", 100, 0), ("/b", 60, 0)]})
    placed = in_log_dirs(state, schedule)
    assert not placed.missed.size
    assert paths_of(state, placed.schedule) == {(0, 1): "/b", (1, 1): "/a", (2, 1): "/a"}


def test_logs_change_places_to_let_one_in() -> None:
    """Emptiest: 6 in a, 5 in b, 4 in b, 3 in a, 2 nowhere (a: 9 of 10, b: 9 of 10). 3 and 4 change places."""
    state, schedule = one_target([60, 50, 40, 30, 20], {1: [("/a", 100, 0), ("/b", 100, 0)]})
    placed = in_log_dirs(state, schedule)
    assert not placed.missed.size
    paths = paths_of(state, placed.schedule)
    assert sorted(sum(s for n, s in enumerate([60, 50, 40, 30, 20]) if paths[n, 1] == p) for p in ("/a", "/b")) == [
        100,
        100,
    ]


def test_a_log_that_fits_no_directory_goes_to_another_broker() -> None:
    state = cluster("aaa", [OUTGOING, ACTIVE, ACTIVE], [[0]], size=80, disk_limit=1.0)
    state = with_dirs(state, {1: [("/a", 70, 0), ("/b", 70, 0)], 2: [("/a", 60, 0), ("/c", 90, 5)]})
    placed = in_log_dirs(state, plan(state, [(0, [1], 0)]))
    assert placed.schedule.after.tolist() == [[2]]
    assert paths_of(state, placed.schedule) == {(0, 2): "/c"}


def test_another_broker_is_taken_only_where_the_racks_stay_as_many() -> None:
    state = cluster("abbc", [OUTGOING, ACTIVE, ACTIVE, ACTIVE], [[0, 1]], size=80, disk_limit=1.0)
    state = with_dirs(state, {3: [("/a", 70, 0), ("/b", 70, 0)]})
    placed = in_log_dirs(state, plan(state, [(0, [3, 1], 0)]))
    assert placed.missed.tolist() == [0]


def test_named_destinations_are_kept_when_another_broker_is_looked_for() -> None:
    state = cluster("aaa", [OUTGOING, ACTIVE, ACTIVE], [[0]], size=80, disk_limit=1.0, destinations={0: (1,)})
    state = with_dirs(state, {1: [("/a", 70, 0), ("/b", 70, 0)]})
    answer = solve(state)
    assert isinstance(answer, Unsolvable)
    assert answer.kind == "log-dir"
    assert answer.stuck.tolist() == [0]


def test_what_fits_nowhere_is_refused_with_broker_directory_and_bytes() -> None:
    state, _ = one_target([80, 10], {1: [("/a", 70, 5), ("/b", 60, 5)]})
    answer = solve(state)
    assert isinstance(answer, Unsolvable)
    assert answer.kind == "log-dir"
    assert "t-0 fit no log directory: of broker 1002 /a has the most room, 55 B" in answer.message
    assert answer.message.endswith("the largest log has 80 B: make room for 25 B more there")


def test_what_fits_is_planned_when_the_rest_may_stay() -> None:
    state, _ = one_target([80, 10], {1: [("/a", 70, 5), ("/b", 60, 5)]})
    answer = solve(state, allow_partial=True)
    assert isinstance(answer, Unsolvable)
    assert answer.part is not None
    assert answer.part.row.tolist() == [1]
    assert answer.part.checkpoints == (1,)
    assert len(paths_of(state, answer.part)) == 1


def test_a_schedule_without_some_entries_keeps_its_checkpoints_in_place() -> None:
    _, schedule = one_target([1, 1, 1, 1], {1: [("/a", 70, 5)]})
    schedule = replace(schedule, checkpoints=(1, 2, 4))
    left = without(schedule, np.array([1, 2]))
    assert (left.row.tolist(), left.checkpoints) == ([0, 3], (1, 2))
    assert without(schedule, np.array([0])).checkpoints == (1, 3)


def test_files_of_others_in_the_directories_take_room_from_the_whole_broker() -> None:
    """80 bytes of others in each directory leave row 1 room for one log of 15, though its disk seems to hold both."""
    state = cluster("aaa", [OUTGOING, ACTIVE, ACTIVE], [[0], [0]], size=15, disk_limit=1.0)
    state = with_dirs(state, {1: [("/a", 100, 90), ("/b", 100, 85)], 2: [("/a", 40, 20), ("/b", 40, 20)]})
    answer = certified(state)
    assert isinstance(answer, CertifiedPlan)
    assert sorted(paths_of(state, answer.schedule).values()) in (["/a", "/a"], ["/a", "/b"], ["/b", "/b"])


def test_a_directory_that_is_too_full_already_gets_nothing_but_empty_logs() -> None:
    state, schedule = one_target([5, 0], {1: [("/a", 100, 100), ("/b", 100, 95)]})
    assert paths_of(state, in_log_dirs(state, schedule).schedule)[0, 1] == "/b"


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32))
def test_every_copy_has_a_directory_and_none_is_filled_beyond_its_limit(seed: int) -> None:
    """Counted anew in dictionaries, and by the replay (who leads how much is none of this)."""
    state = drawn(seed)
    schedule = solve(state)
    if isinstance(schedule, Unsolvable) or state.log_dirs is None:
        return
    assert {v.rule for v in replay(state, schedule).violations} <= {PlanRule.LEADERS}
    table = state.log_dirs
    known: dict[int, list[int]] = {}
    for n, broker in enumerate(table.broker.tolist()):
        known.setdefault(broker, []).append(n)
    used = dict(enumerate(table.used_bytes.tolist()))
    got = paths_of(state, schedule)
    for row, after in zip(schedule.row.tolist(), schedule.after.tolist(), strict=True):
        before = state.partitions.replicas[row].tolist()
        for broker in (b for b in after if b != NO_BROKER and b not in before):
            dirs = known.get(broker, [])
            assert ((row, broker) in got) == (len(dirs) > 1)
            if dirs:
                path = got.get((row, broker), table.path[dirs[0]])
                (directory,) = [d for d in dirs if table.path[d] == path]
                used[directory] += int(state.partitions.size_bytes[row])
    for n, bytes_ in used.items():
        grew = bytes_ > int(table.used_bytes[n])
        assert not grew or bytes_ <= int(table.disk_bytes[n] * state.disk_limit)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32))
def test_the_same_state_gives_the_same_directories(seed: int) -> None:
    one, other = solve(drawn(seed)), solve(drawn(seed))
    if isinstance(one, Unsolvable) or isinstance(other, Unsolvable):
        assert isinstance(one, Unsolvable)
        assert isinstance(other, Unsolvable)
        assert one.message == other.message
        return
    assert one.after.tolist() == other.after.tolist()
    assert (one.log_dirs is None) == (other.log_dirs is None)
    assert one.log_dirs is None or np.array_equal(one.log_dirs, other.log_dirs)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=8), st.lists(st.integers(20, 90), min_size=2, max_size=3))
def test_what_no_distribution_can_fit_is_missed_and_nothing_is_lost(sizes: list[int], disks: list[int]) -> None:
    state, schedule = one_target(sizes, {1: [(f"/{n}", size, 0) for n, size in enumerate(disks)]})
    placed = in_log_dirs(state, schedule)
    assert len(placed.schedule) == len(schedule)
    if not _fit(sorted(sizes, reverse=True), disks):
        assert placed.missed.size
    assert set(paths_of(state, placed.schedule)) == {(n, 1) for n in range(len(sizes)) if n not in placed.missed}


def _fit(sizes: list[int], rooms: list[int]) -> bool:
    if not sizes:
        return True
    return any(
        _fit(sizes[1:], [*rooms[:n], room - sizes[0], *rooms[n + 1 :]])
        for n, room in enumerate(rooms)
        if room >= sizes[0]
    )


def test_a_dead_brokers_replicas_get_directories_too() -> None:
    state = cluster("aaa", [DEAD, ACTIVE, ACTIVE], [[1, 0]], size=30, out_of_sync=[(0, 0)])
    state = with_dirs(state, {2: [("/a", 100, 0), ("/b", 100, 10)]})
    answer = certified(state)
    assert isinstance(answer, CertifiedPlan)
    assert paths_of(state, answer.schedule) == {(0, 2): "/a"}
