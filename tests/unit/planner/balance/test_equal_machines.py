"""Equal machines get equal shares, whatever they bear at the moment: a NIC's capacity is the NIC's."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from planner.balance import Balanced, MeasuredLoads, rebalance
from planner.balance.goals import DEFAULT_GOALS, Goal
from planner.balance.limits import limits_of
from planner.balance.loads import Figure, borne, led_now, loads_of
from planner.balance.rebalance import add_brokers
from planner.drain.model.hardware import Hardware, unknown_hardware
from planner.drain.model.state import ClusterState, Floats
from tests.unit.planner.balance.balance_cases import applied, broken_rules, healthy

MB = 1e6
NIC = 234.5 * MB
"""m7g.xlarge: 1.876 Gbit/s."""
TRAFFIC = (Figure.NIC_IN, Figure.NIC_OUT)


def written(state: ClusterState, rates: list[float]) -> ClusterState:
    parts = state.partitions
    return replace(
        state,
        partitions=replace(
            parts, write_bytes_per_s=np.array(rates, dtype=np.float64), read_bytes_per_s=np.zeros(len(parts))
        ),
    )


def with_nics(state: ClusterState, nic: float = NIC) -> ClusterState:
    each = np.full(len(state.brokers), nic)
    known = replace(unknown_hardware(len(state.brokers)), nic_in_bytes_per_s=each, nic_out_bytes_per_s=each)
    return replace(state, hardware=known)


def half_busy(spare: float | list[float] = 0.75 * NIC) -> ClusterState:
    """Equal brokers with as many replicas and bytes each: three take 144 MB/s each and three 12 MB/s. `spare`: what
    migration may use."""
    lists = [[n % 3, (n + 1) % 3, (n + 2) % 3] for n in range(48)]
    state = healthy(
        "abcabc", [*lists, *([b + 3 for b in row] for row in lists)], size=10**9, disk=10**12, ingress=spare,
        egress=spare, flow=70 * MB,
    )  # fmt: skip
    return written(state, [3 * MB] * 48 + [0.25 * MB] * 48)


def traffic_in(state: ClusterState) -> Floats:
    loads = loads_of(state, MeasuredLoads())
    return borne(loads, state.partitions.replicas, state.partitions.leader)[:, Figure.NIC_IN]


@pytest.mark.parametrize("known", [True, False], ids=["NIC known", "NIC unknown"])
def test_six_equal_brokers_of_which_three_are_busy_end_with_equal_traffic(known: bool) -> None:
    state = with_nics(half_busy()) if known else half_busy()
    assert (traffic_in(state) / MB).round().tolist() == [144, 144, 144, 12, 12, 12]
    answer = rebalance(state)
    assert isinstance(answer, Balanced)
    assert [str(goal.goal) for goal in answer.goals if goal.broken_after] == []
    after = traffic_in(applied(state, answer.schedule))
    assert after.max() / after.mean() <= 1.0901
    assert after.min() / after.mean() >= 0.9099
    assert broken_rules(state, answer.schedule) == ()


def test_three_empty_brokers_get_half_of_everything_under_a_throttle_below_the_traffic() -> None:
    """3 -> 6 equal machines, about 8 MiB/s written, moves throttled to 4 MiB/s: it ended at 39 and 21 replicas."""
    lists = [[n % 3, (n + 1) % 3, (n + 2) % 3] for n in range(60)]
    state = healthy("abcabc", lists, size=10**8, disk=10**12, ingress=4 * 1024**2, egress=4 * 1024**2, flow=70 * MB)
    state = written(state, [8 * 1024**2 / 60] * 60)
    answer = add_brokers(state, [1004, 1005, 1006])
    assert isinstance(answer, Balanced)
    held = np.bincount(applied(state, answer.schedule).partitions.replicas.ravel(), minlength=6)
    assert held.min() >= 27
    assert held.max() <= 33


def test_a_broker_whose_moves_may_use_less_is_due_no_smaller_share() -> None:
    throttled = half_busy([10 * MB, 175 * MB, 80 * MB, 175 * MB, 1 * MB, 175 * MB])
    for figure in TRAFFIC:
        assert np.allclose(*shares(throttled, figure))
        assert np.allclose(*shares(with_nics(throttled), figure))


def test_a_machine_with_twice_the_network_is_due_twice_the_traffic() -> None:
    state = with_nics(half_busy())
    assert state.hardware is not None
    nic = np.array([1, 1, 1, 2, 2, 2]) * NIC
    state = replace(state, hardware=replace(state.hardware, nic_in_bytes_per_s=nic))
    loads = loads_of(state, MeasuredLoads())
    goals = tuple(aim for aim in DEFAULT_GOALS if aim.goal != Goal.RACKS)
    total = borne(loads, state.partitions.replicas, led_now(state))
    share = limits_of(state, loads, goals, total).mean[:, Figure.NIC_IN]
    assert np.allclose(share[3:], 2 * share[:3])


def test_a_ceiling_of_a_network_that_nobody_knows_is_not_judged() -> None:
    answer = rebalance(half_busy())
    assert isinstance(answer, Balanced)
    report = next(goal for goal in answer.goals if goal.goal == Goal.NIC_IN_CAPACITY)
    assert (report.broken_before, report.broken_after) == (0, 0)
    assert report.why == "not judged: the network of 6 of 6 brokers is not known"
    known = rebalance(with_nics(half_busy()))
    assert isinstance(known, Balanced)
    assert next(goal for goal in known.goals if goal.goal == Goal.NIC_IN_CAPACITY).why == ""


def test_a_network_that_is_too_small_breaks_its_ceiling_at_once() -> None:
    answer = rebalance(with_nics(half_busy(), nic=160 * MB))
    assert isinstance(answer, Balanced)
    report = next(goal for goal in answer.goals if goal.goal == Goal.NIC_IN_CAPACITY)
    assert (report.broken_before, report.broken_after) == (3, 0)


def test_a_plan_says_whose_network_nobody_knows() -> None:
    lines = loads_of(half_busy(), MeasuredLoads()).assumptions
    told = "of 6 of 6 brokers not known: all get equal shares of it, and no ceiling is judged where it is not"
    assert [line for line in lines if "network" in line] == [f"network in {told}", f"network out {told}"]
    assert not [line for line in loads_of(with_nics(half_busy()), MeasuredLoads()).assumptions if "network" in line]


def test_hardware_is_as_long_as_the_brokers() -> None:
    assert np.isnan(unknown_hardware(3).nic_in_bytes_per_s).tolist() == [True] * 3
    assert isinstance(unknown_hardware(3), Hardware)


def shares(state: ClusterState, figure: Figure) -> tuple[Floats, Floats]:
    """The even shares, and the mean of them."""
    loads = loads_of(state, MeasuredLoads())
    total = borne(loads, state.partitions.replicas, led_now(state))
    found = limits_of(state, loads, DEFAULT_GOALS, total).mean[:, figure]
    return found, np.full(found.shape, found.mean())


@st.composite
def loaded(draw: st.DrawFn) -> ClusterState:
    """Six equal machines in three racks under any load, and with any share of their bandwidth left to moves."""
    count = draw(st.integers(4, 24))
    rates = draw(st.lists(st.floats(0.01, 20.0), min_size=count, max_size=count))
    ranks = draw(st.lists(st.permutations([0, 1, 2]), min_size=count, max_size=count))
    sides = draw(st.lists(st.lists(st.sampled_from([0, 3]), min_size=3, max_size=3), min_size=count, max_size=count))
    spare = draw(st.lists(st.floats(1.0, 300.0), min_size=6, max_size=6))
    lists = [[rack + side for rack, side in zip(*row, strict=True)] for row in zip(ranks, sides, strict=True)]
    state = healthy(
        "abcabc", lists, size=10**8, disk=10**12, ingress=[s * MB for s in spare],
        egress=[s * MB for s in reversed(spare)], flow=70 * MB,
    )  # fmt: skip
    state = written(state, [rate * MB for rate in rates])
    return with_nics(state) if draw(st.booleans()) else state


@given(loaded())
@settings(max_examples=60, deadline=None)
def test_equal_machines_have_equal_shares_whatever_the_load(state: ClusterState) -> None:
    for figure in Figure:
        share, mean = shares(state, figure)
        assert np.allclose(share, mean)


@given(loaded())
@settings(max_examples=25, deadline=None)
def test_a_plan_never_leaves_the_busier_of_equal_machines_busier_still(state: ClusterState) -> None:
    answer = rebalance(state)
    best = answer if isinstance(answer, Balanced) else answer.best
    assert best is not None
    before, after = traffic_in(state), traffic_in(applied(state, best.schedule))
    report = next(goal for goal in best.goals if goal.goal == Goal.NIC_IN)
    inside = (np.abs(after / after.mean() - 1) <= 0.09 + 1e-6).all()
    assert inside == report.met
    weighing_more = best.goals[: best.goals.index(report)]
    if not any(goal.broken_after < goal.broken_before for goal in weighing_more):
        assert after.max() <= max(before.max(), 1.09 * before.mean()) * (1 + 1e-6)
