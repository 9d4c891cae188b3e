"""Bounds worked out on paper, and clusters on which other tools are known to fail."""

import math

import numpy as np
import pytest

from planner.drain.bounds import bounds_of
from tests.unit.planner.drain.judge_cases import ACTIVE, DEAD, NEW, OUTGOING, cluster

KILLERWHILE = [
    [7, 18], [8, 19], [9, 10], [0, 11], [1, 12], [2, 13], [3, 14], [4, 15], [5, 16], [6, 17],
]  # fmt: skip
"""killerwhile/kafka-assignment-optimizer, README: even ids in one zone, odd in the other."""


def test_bytes_count_every_copy_that_leaves_a_drained_broker() -> None:
    state = cluster("abcab", [OUTGOING, OUTGOING, ACTIVE, NEW, NEW], [[0, 1, 2], [1, 2]], size=[100, 30])
    assert bounds_of(state).bytes == 230


def test_with_as_many_racks_as_replicas_each_rack_must_take_back_its_own() -> None:
    """Rack a has one taker of 10, rack b two of 10: 200 bytes leave a."""
    state = cluster("ababb", [OUTGOING, ACTIVE, ACTIVE, ACTIVE, ACTIVE], [[0, 1], [0, 3]])
    assert bounds_of(state).ingress_s == pytest.approx(20.0)


def test_with_more_racks_than_replicas_any_free_rack_may_take() -> None:
    state = cluster("abcd", [OUTGOING, ACTIVE, ACTIVE, ACTIVE], [[0, 1], [0, 1]], ingress=[1, 1, 10, 30])
    assert bounds_of(state).ingress_s == pytest.approx(200 / 40)


def test_named_destinations_alone_count() -> None:
    state = cluster(
        "aaaa", [OUTGOING, OUTGOING, NEW, ACTIVE], [[0], [1]], destinations={0: (2,)}, ingress=[1, 1, 4, 100]
    )
    bounds = bounds_of(state)
    assert bounds.ingress_s == pytest.approx(25.0)  # what leaves broker 1 goes to 3
    assert bounds.disk(25.0) == pytest.approx(1e-4)
    assert math.isinf(bounds.disk(20.0))


def test_several_named_destinations_share() -> None:
    state = cluster("aaaa", [OUTGOING, NEW, NEW, ACTIVE], [[0], [0]], destinations={0: (1, 2)}, ingress=[1, 4, 6, 100])
    assert bounds_of(state).ingress_s == pytest.approx(20.0)


def test_egress_finds_the_set_of_brokers_that_alone_can_serve() -> None:
    state = cluster("abca", [OUTGOING, ACTIVE, ACTIVE, NEW], [[0, 1], [0, 1], [0, 2]], ingress=1e6,
                    egress=[1, 4, 1000, 1], out_of_sync=[(0, 0)])  # fmt: skip
    assert bounds_of(state).egress_s == pytest.approx(200 / 5)


def test_a_dead_broker_is_never_read() -> None:
    state = cluster("abc", [DEAD, ACTIVE, NEW], [[0, 1]], egress=[1000, 2, 1])
    assert bounds_of(state).egress_s == pytest.approx(50.0)


def test_nobody_in_sync_means_no_plan_ends() -> None:
    state = cluster("abc", [DEAD, ACTIVE, NEW], [[0, 1]], out_of_sync=[(0, 1)])
    assert math.isinf(bounds_of(state).makespan_s)


def test_the_longest_log_moves_at_the_rate_of_one_flow() -> None:
    state = cluster("aaa", [OUTGOING, ACTIVE, ACTIVE], [[0], [0]], size=[300, 100], ingress=1e6, flow=10)
    assert bounds_of(state).makespan_s == pytest.approx(30.0)


def test_water_is_filled_into_the_emptier_target_first() -> None:
    """400 bytes into disks holding 100 and 300 of 1000: level at (100 + 300 + 400) / 2000."""
    state = cluster("aaa", [OUTGOING, ACTIVE, ACTIVE], [[0], [1], [2]], size=[400, 100, 300], disk=1000)
    bounds = bounds_of(state)
    assert bounds.disk(1e9) == pytest.approx(0.4)
    assert bounds.disk(20.0) == pytest.approx(0.5)  # each can take 200 in that time: 300, 500
    assert math.isinf(bounds.disk(19.0))


def test_disk_is_never_below_the_fullest_now() -> None:
    state = cluster("aaa", [OUTGOING, ACTIVE, ACTIVE], [[0], [1]], size=[10, 900], disk=1000)
    assert bounds_of(state).disk(1e9) == pytest.approx(0.9)


def test_release_orders_the_smallest_broker_first_and_waits_for_longest_logs() -> None:
    """Rack a: 100 and 300 bytes into 10 B/s: max(10, 100/4) + max(40, 150/4); all racks together are no tighter."""
    state = cluster("aaabb", [OUTGOING, OUTGOING, ACTIVE, ACTIVE, ACTIVE], [[0, 3], [1, 3], [1, 4]],
                    size=[100, 150, 150], flow=4, ingress=10)  # fmt: skip
    assert bounds_of(state).release_s == pytest.approx(25 + 40)


def test_release_of_brokers_with_successors_of_their_own_adds_up() -> None:
    state = cluster("aaaa", [OUTGOING, OUTGOING, NEW, NEW], [[0], [1]], destinations={0: (2,), 1: (3,)})
    assert bounds_of(state).release_s == pytest.approx(20.0)


def test_leader_changes_count_the_drained_and_what_is_over_the_fair_share() -> None:
    """Broker 1 leads 3 of 5, fair is ceil(5 / 2) = 3; broker 0 leads 1, one has no leader."""
    state = cluster(
        "abc", [OUTGOING, ACTIVE, ACTIVE], [[0, 1], [1, 2], [1, 2], [1, 2], [2, 1]], leader=[0, 1, 1, 1, -1]
    )
    assert bounds_of(state).leader_changes == 2


def test_a_leader_optimum_above_the_fair_share_is_proved_by_the_partitions_that_have_no_choice() -> None:
    state = cluster("abc", [ACTIVE, ACTIVE, ACTIVE], [[0], [0], [0], [0, 1], [1, 2], [2]])
    assert bounds_of(state).leader_count == 3


def test_killerwhiles_twenty_brokers_need_one_move() -> None:
    states = [ACTIVE] * 19 + [OUTGOING]
    bounds = bounds_of(cluster("ab" * 10, states, KILLERWHILE, size=1))
    assert bounds.bytes == 1
    assert bounds.leader_count == 1


def test_small_racks_are_not_flooded_kafka_3438() -> None:
    """Racks of 3, 3 and 1 brokers: what leaves the racks of three stays there; the single broker takes nothing."""
    replicas = [[i % 3, 3 + i % 3, 6] for i in range(9)]
    state = cluster("aaabbbc", [OUTGOING, *[ACTIVE] * 6], replicas)
    bounds = bounds_of(state)
    assert bounds.ingress_s == pytest.approx(300 / 20)
    assert bounds.disk(bounds.ingress_s) == pytest.approx(900 / 10**6)


def test_two_replicas_that_leave_go_to_different_racks() -> None:
    """Only racks c and d are free for the two copies: each takes one, however fast c is."""
    state = cluster("abbcd", [OUTGOING, OUTGOING, ACTIVE, ACTIVE, ACTIVE], [[0, 1, 2]], ingress=[1, 1, 1, 100, 5])
    assert bounds_of(state).ingress_s == pytest.approx(20.0)


def test_a_state_without_drained_brokers_needs_nothing() -> None:
    state = cluster("abc", [ACTIVE] * 3, [[0, 1], [1, 2]])
    bounds = bounds_of(state)
    assert (bounds.bytes, bounds.makespan_s, bounds.release_s) == (0, 0.0, 0.0)
    assert bounds.disk(0.0) == pytest.approx(2e-4)
    assert np.isfinite(bounds.leader_count)
