"""What a broker should bear where racks are uneven: never more than its rack can hold."""

import numpy as np
from hypothesis import given, strategies as st

from benchmarks.grown import Grown, grown
from planner.balance import Balanced, rebalance
from planner.balance.goals import DEFAULT_GOALS, Goal
from planner.balance.limits import limits_of
from planner.balance.loads import Figure, MeasuredLoads, borne, led_now, loads_of
from planner.balance.shares import levels
from planner.drain.model.state import ClusterState
from tests.unit.planner.balance.balance_cases import applied, broken_rules, healthy

UNEVEN = "aaaabbc"
"""Four brokers in one rack, two in another, one in the third."""


def crowded(count: int = 84) -> ClusterState:
    """A replica in each rack; those of the first rack all on its first broker."""
    return healthy(UNEVEN, [[0, 4 + n % 2, 6] for n in range(count)])


def shares(state: ClusterState, figure: Figure, *, racks: bool = True) -> list[float]:
    loads = loads_of(state, MeasuredLoads())
    goals = tuple(aim for aim in DEFAULT_GOALS if racks or aim.goal != Goal.RACKS)
    return (
        limits_of(state, loads, goals, borne(loads, state.partitions.replicas, led_now(state))).mean[:, figure].tolist()
    )


def test_with_as_many_racks_as_replicas_each_rack_bears_everything_once() -> None:
    assert shares(crowded(), Figure.REPLICAS) == [21, 21, 21, 21, 42, 42, 84]


def test_leadership_may_be_anywhere_in_a_rack_that_holds_everything() -> None:
    assert shares(crowded(), Figure.LEADERS) == [12] * 7


def test_without_the_goal_of_racks_the_share_is_the_plain_mean() -> None:
    assert shares(crowded(), Figure.REPLICAS, racks=False) == [36] * 7


def test_with_more_replicas_than_racks_a_rack_may_hold_two() -> None:
    state = healthy("aaab", [[0, 1, 3]] * 8)
    assert shares(state, Figure.REPLICAS) == [16 / 3, 16 / 3, 16 / 3, 8]


def test_a_rack_that_can_hold_its_part_shares_by_the_number_of_brokers() -> None:
    assert shares(healthy("aabbcc", [[0, 2]] * 6), Figure.REPLICAS) == [2] * 6


def test_a_growth_in_one_rack_alone_is_balanced_within_that_rack() -> None:
    state = crowded()
    answer = rebalance(state)
    assert isinstance(answer, Balanced)
    assert [goal.goal for goal in answer.goals if goal.broken_after] == []
    assert broken_rules(state, answer.schedule) == ()
    held = np.bincount(applied(state, answer.schedule).partitions.replicas.ravel(), minlength=7).tolist()
    assert held[4:] == [42, 42, 84]
    assert all(19 <= count <= 23 for count in held[:4])


def test_a_growth_of_logs_of_all_sizes_in_uneven_racks_ends_within_every_goal() -> None:
    state = grown(Grown(partitions=1800, before=10, after=12))
    answer = rebalance(state)
    assert isinstance(answer, Balanced)
    assert [goal.goal for goal in answer.goals if goal.broken_after] == []
    assert [goal.goal for goal in answer.goals if goal.broken_before]
    assert broken_rules(state, answer.schedule) == ()


RACKS = st.integers(1, 6)


@given(st.data())
def test_levels_share_out_everything_and_no_rack_takes_more_than_its_cap(data: st.DataObject) -> None:
    racks = data.draw(RACKS)
    weight = np.array(data.draw(st.lists(st.integers(1, 9), min_size=racks, max_size=racks)), dtype=float)
    cap = np.array([data.draw(st.lists(st.integers(1, 50), min_size=racks, max_size=racks))], dtype=float)
    amount = data.draw(st.integers(0, int(cap.sum())))
    taken = levels(np.array([float(amount)]), weight, cap)[0] * weight
    assert np.isclose(taken.sum(), amount)
    assert (taken <= cap[0] * (1 + 1e-9)).all()
    free = taken < cap[0] * (1 - 1e-9)
    level = taken / weight
    assert np.allclose(level[free], level[free].max(initial=0.0))
    assert (level[~free] <= level[free].min(initial=np.inf) * (1 + 1e-9)).all()


def test_where_every_rack_is_full_the_share_is_even() -> None:
    assert levels(np.array([30.0]), np.array([1.0, 2.0]), np.array([[5.0, 5.0]])).tolist() == [[10.0, 10.0]]


def test_a_rack_without_brokers_that_take_gets_no_part() -> None:
    level = levels(np.array([12.0]), np.array([2.0, 0.0, 1.0]), np.array([[6.0, 6.0, 6.0]]))
    assert (level[0] * np.array([2.0, 0.0, 1.0])).tolist() == [6.0, 0.0, 6.0]
