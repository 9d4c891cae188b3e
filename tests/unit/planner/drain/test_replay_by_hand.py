"""Replays small enough to work out on paper: the plan file's semantics, sentence by sentence."""

import math

import numpy as np
import pytest

from planner.drain.model.state import NO_BROKER
from planner.drain.replay import ingress_series, replay
from tests.unit.planner.drain.judge_cases import ACTIVE, NEW, OUTGOING, cluster, plan


def test_two_copies_into_one_target_share_its_ingress_and_the_smaller_ends_first() -> None:
    state = cluster("aa", [OUTGOING, ACTIVE], [[0], [0]], size=[100, 300], ingress=10)
    run = replay(state, plan(state, [(0, [1], NO_BROKER), (1, [1], NO_BROKER)]))
    assert run.end_s.tolist() == pytest.approx([20.0, 40.0])  # 5 + 5 until 20 s, then 200 left at 10
    assert run.makespan_s == pytest.approx(40.0)
    assert run.release_s == {0: pytest.approx(40.0)}


def test_a_flow_never_passes_the_cap_and_leaves_its_share_to_others() -> None:
    state = cluster(
        "aab", [ACTIVE, ACTIVE, OUTGOING], [[2], [2], [2]], size=[40, 120, 120], ingress=[100, 10, 1], flow=4
    )
    run = replay(state, plan(state, [(0, [0], 2), (1, [1], 2), (2, [1], 2)]))
    assert run.end_s.tolist() == pytest.approx([10.0, 30.0, 30.0])


def test_rates_are_max_min_fair_over_both_sides() -> None:
    """Source 3 gives 12: its copies to 0 and 1 get 3 and 9, as target 0 takes 6 and shares it with source 4's."""
    state = cluster("aabcc", [ACTIVE, ACTIVE, ACTIVE, OUTGOING, OUTGOING], [[3], [3], [4]], size=[30, 90, 30],
                    ingress=[6, 100, 1, 1, 1], egress=[1, 1, 1, 12, 100])  # fmt: skip
    run = replay(state, plan(state, [(0, [0], 3), (1, [1], 3), (2, [0], 4)]))
    assert run.end_s.tolist() == pytest.approx([10.0, 10.0, 10.0])


def test_throttles_replace_the_bandwidth_where_they_are_smaller() -> None:
    state = cluster("aa", [OUTGOING, ACTIVE], [[0]], size=100, ingress=10, egress=20)
    moves = [(0, [1], 0)]
    assert replay(state, plan(state, moves, throttle_in=4)).makespan_s == pytest.approx(25.0)
    assert replay(state, plan(state, moves, throttle_out=5)).makespan_s == pytest.approx(20.0)
    assert replay(state, plan(state, moves, throttle_in=400)).makespan_s == pytest.approx(10.0)


def test_a_blocked_entry_is_overtaken_and_starts_when_its_slot_comes_free() -> None:
    state = cluster("aaa", [OUTGOING, ACTIVE, ACTIVE], [[0]] * 3, size=[100, 100, 50], ingress=10)
    run = replay(state, plan(state, [(0, [1], 0), (1, [1], 0), (2, [2], 0)], slots_in=1))
    assert run.start_s.tolist() == pytest.approx([0.0, 10.0, 0.0])
    assert run.makespan_s == pytest.approx(20.0)


def test_the_list_is_scanned_from_its_head_so_the_earlier_of_two_waiting_entries_starts() -> None:
    state = cluster("aa", [OUTGOING, ACTIVE], [[0]] * 3, size=[10, 10, 10], ingress=10)
    run = replay(state, plan(state, [(2, [1], 0), (0, [1], 0), (1, [1], 0)], slots_in=1))
    assert run.start_s.tolist() == pytest.approx([0.0, 1.0, 2.0])


def test_an_entry_of_two_copies_takes_its_source_past_the_limit_and_blocks_it_until_both_slots_are_back() -> None:
    state = cluster("abcab", [OUTGOING, OUTGOING, ACTIVE, NEW, NEW], [[2, 0, 1], [2, 0, 1]], size=[100, 100],
                    ingress=[1, 1, 1, 10, 20])  # fmt: skip
    run = replay(state, plan(state, [(0, [2, 3, 4], 2), (1, [2, 3, 4], 2)], slots_out=1))
    assert run.start_s.tolist() == pytest.approx([0.0, 10.0])
    assert not run.violations


def test_a_slot_comes_free_when_its_copy_ends_not_when_the_whole_entry_does() -> None:
    state = cluster("abcab", [OUTGOING, OUTGOING, ACTIVE, NEW, NEW], [[2, 0, 1], [2, 0, 1], [1]], size=[100, 100, 40],
                    ingress=[1, 1, 1, 10, 20])  # fmt: skip
    run = replay(state, plan(state, [(0, [2, 3, 4], 2), (2, [4], 1)], slots_in=1))
    assert run.start_s.tolist() == pytest.approx([0.0, 5.0])
    assert run.end_s.tolist() == pytest.approx([10.0, 7.0])


def test_old_replicas_are_dropped_only_when_the_last_copy_of_the_entry_has_ended() -> None:
    state = cluster("abcab", [OUTGOING, OUTGOING, ACTIVE, NEW, NEW], [[2, 0, 1]], ingress=[1, 1, 1, 10, 20])
    run = replay(state, plan(state, [(0, [2, 3, 4], 2)]))
    assert run.release_s == {0: pytest.approx(10.0), 1: pytest.approx(10.0)}


def test_order_only_entries_take_no_slot_and_complete_at_once() -> None:
    state = cluster("ab", [ACTIVE, ACTIVE], [[0, 1]])
    run = replay(state, plan(state, [(0, [1, 0], NO_BROKER)], slots_in=0, slots_out=0))
    assert (run.makespan_s, run.bytes_moved, run.leader_changes) == (0.0, 0, 1)
    assert run.leaders.tolist() == [0, 1]
    assert not run.violations


def test_the_leader_now_is_read_where_no_source_is_named() -> None:
    state = cluster("abc", [OUTGOING, ACTIVE, NEW], [[0, 1]], leader=[1], egress=[1, 5, 1], ingress=100)
    assert replay(state, plan(state, [(0, [2, 1], NO_BROKER)])).makespan_s == pytest.approx(20.0)


def test_after_the_preferred_election_every_partition_is_led_by_its_first_replica_listed_or_not() -> None:
    state = cluster("abc", [OUTGOING, ACTIVE, NEW], [[0, 1], [1, 2]], leader=[0, 2], ingress=100)
    run = replay(state, plan(state, [(0, [2, 1], 1)]))
    assert run.leaders.tolist() == [0, 1, 1]
    assert run.leader_changes == 2
    assert run.source_transfers == 1  # broker 1 neither leads now nor after


def test_a_broker_without_bandwidth_never_ends_and_says_so() -> None:
    state = cluster("aa", [OUTGOING, ACTIVE], [[0]])
    run = replay(state, plan(state, [(0, [1], 0)], throttle_in=0))
    assert math.isinf(run.makespan_s)
    assert math.isinf(run.release_s[0])
    assert [v.rule.name for v in run.violations if v.rule.name == "UNFINISHED"]


def test_an_empty_partition_moves_in_no_time() -> None:
    state = cluster("aa", [OUTGOING, ACTIVE], [[0], [0]], size=[0, 0])
    run = replay(state, plan(state, [(0, [1], 0), (1, [1], 0)], slots_in=1))
    assert run.makespan_s == 0.0
    assert not run.violations


def test_disk_counts_whole_copies_from_their_start_and_frees_old_ones_at_completion() -> None:
    state = cluster("aa", [OUTGOING, ACTIVE], [[0], [1]], size=[300, 100], disk=1000)
    run = replay(state, plan(state, [(0, [1], 0)]))
    assert run.disk_after.tolist() == pytest.approx([0.0, 0.4])
    assert run.disk_worst.tolist() == pytest.approx([0.3, 0.4])


def test_the_series_holds_every_byte_that_moved() -> None:
    state = cluster("aa", [OUTGOING, ACTIVE], [[0], [0]], size=[100, 300], ingress=10)
    series = ingress_series(state, plan(state, [(0, [1], 0), (1, [1], 0)], slots_in=1), 40.0, bins=7)
    assert (series.bytes_per_s * series.bin_s).sum(axis=1).tolist() == pytest.approx([0.0, 400.0])
    assert np.allclose(series.bytes_per_s[1], 10.0)


def test_no_byte_is_lost_where_an_instant_falls_on_the_edge_of_a_bin() -> None:
    """An edge at 0.3 / 0.1 = 2.999... names the bin just left; what follows it was dropped."""
    state = cluster("aa", [OUTGOING, ACTIVE], [[0]] * 30, size=[1] * 30, ingress=10)
    moves = plan(state, [(row, [1], 0) for row in range(30)], slots_in=1)
    series = ingress_series(state, moves, 3.0, bins=30)
    assert series.bytes_per_s[1].tolist() == pytest.approx([10.0] * 30)
