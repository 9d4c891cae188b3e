"""Bounds against HiGHS on random small clusters, whatever the racks: exact means equal."""

import pytest
from hypothesis import assume, given, settings, strategies as st

from planner.drain.bounds import bounds_of
from planner.drain.model.state import ClusterState
from tests.unit.planner.drain import bounds_oracle as oracle
from tests.unit.planner.drain.judge_cases import ACTIVE, DEAD, OUTGOING, cluster


@st.composite
def clusters(draw: st.DrawFn) -> ClusterState:
    brokers = draw(st.integers(4, 7))
    partitions = draw(st.integers(1, 8))
    lists = st.lists(st.integers(0, brokers - 1), min_size=1, max_size=3, unique=True)
    replicas = [draw(lists) for _ in range(partitions)]
    racks = "".join(draw(st.sampled_from("abcd")) for _ in range(brokers))
    states = [draw(st.sampled_from([ACTIVE, ACTIVE, OUTGOING, DEAD])) for _ in range(brokers)]
    assume(ACTIVE in states)
    rate = st.sampled_from([1.0, 2.0, 5.0])
    return cluster(
        racks,
        states,
        replicas,
        size=[draw(st.integers(0, 50)) for _ in range(partitions)],
        out_of_sync=[(row, draw(st.sampled_from(r))) for row, r in enumerate(replicas) if draw(st.integers(0, 3)) == 0],
        ingress=[draw(rate) for _ in range(brokers)],
        egress=[draw(rate) for _ in range(brokers)],
        disk=[draw(st.integers(200, 400)) for _ in range(brokers)],
    )


def _is_placeable(state: ClusterState) -> bool:
    return all(oracle.legal_placements(state, row) for row in oracle.leaving_rows(state))


@given(clusters())
@settings(max_examples=60, deadline=None)
def test_the_egress_bound_is_the_value_of_its_linear_program(state: ClusterState) -> None:
    assert bounds_of(state).egress_s == pytest.approx(oracle.egress_s(state), rel=1e-6, abs=1e-9)


@given(clusters())
@settings(max_examples=60, deadline=None)
def test_the_ingress_bound_is_the_value_of_its_linear_program(state: ClusterState) -> None:
    assume(_is_placeable(state))
    assert bounds_of(state).ingress_s == pytest.approx(oracle.ingress_s(state), rel=1e-6, abs=1e-9)


@given(clusters(), st.sampled_from([1.0, 1.05, 1.5, 4.0]))
@settings(max_examples=60, deadline=None)
def test_the_disk_frontier_is_the_value_of_its_linear_program(state: ClusterState, stretch: float) -> None:
    assume(_is_placeable(state))
    bounds = bounds_of(state)
    budget_s = bounds.ingress_s * stretch
    fullest = (bounds.intake.used / bounds.intake.disk)[state.brokers.may_receive].max()
    expected = max(fullest, oracle.least_fill(state, budget_s))
    assert bounds.disk(budget_s) == pytest.approx(expected, rel=1e-6, abs=1e-9)


@given(clusters())
@settings(max_examples=60, deadline=None)
def test_the_leader_optimum_is_exact(state: ClusterState) -> None:
    assume(_is_placeable(state))
    assert bounds_of(state).leader_count == oracle.leader_count(state)
