"""A dead broker need not say what it has: whatever is known of it, or not, no plan is made of its figures."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from planner.drain.bounds import bounds_of
from planner.drain.certified import CertifiedPlan, certified
from planner.drain.model.state import BrokerState, ClusterState
from planner.drain.solver import Unsolvable
from tests.unit.planner.drain.judge_cases import ACTIVE, DEAD, OUTGOING, cluster
from tests.unit.planner.drain.reported_drains import reported


def with_figures_of_the_dead(state: ClusterState, disk: int, rate: float) -> ClusterState:
    dead = state.brokers.state == BrokerState.DEAD
    brokers = replace(
        state.brokers,
        disk_bytes=np.where(dead, disk, state.brokers.disk_bytes),
        ingress_bytes_per_s=np.where(dead, rate, state.brokers.ingress_bytes_per_s),
        egress_bytes_per_s=np.where(dead, rate, state.brokers.egress_bytes_per_s),
    )
    return replace(state, brokers=brokers)


def drawn(seed: int) -> ClusterState:
    """Six to twelve brokers in three racks, one of them dead, perhaps one outgoing; any may have the lowest id."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(6, 13))
    states = [ACTIVE] * count
    dead = int(rng.integers(0, count))
    states[dead] = DEAD
    if rng.random() < 0.3:
        states[(dead + 1) % count] = OUTGOING
    replicas = [rng.permutation(count)[: int(rng.integers(2, 4))].tolist() for _ in range(int(rng.integers(1, 60)))]
    leader = [next(b for b in held if b != dead) for held in replicas]
    lost = [(row, dead) for row, held in enumerate(replicas) if dead in held]
    size = rng.integers(1, 10_000, len(replicas)).tolist()
    racks = "".join("abc"[n % 3] for n in range(count))
    rate = float(rng.choice([50.0, 200.0, 1000.0]))
    return cluster(
        racks, states, replicas, size=size, leader=leader, out_of_sync=lost, ingress=rate, egress=rate, flow=70.0
    )


def test_a_dead_broker_without_figures_is_no_reason_to_ask_for_more_disk() -> None:
    """Reported: three brokers, one partition, empty disks, and "found no disk: add 953.7 MiB in rack a"."""
    answer = certified(reported("dead-broker-without-figures-no-plan"))
    assert isinstance(answer, CertifiedPlan), answer
    assert answer.verdict.holds
    assert answer.measures.makespan_s.ratio == pytest.approx(1.0, abs=0.001)


def test_a_dead_broker_without_figures_does_not_slow_the_plan_down() -> None:
    """Reported: nine logs of 1 GB planned in 71 s where 45 s are possible."""
    answer = certified(reported("dead-broker-without-figures-slow-plan"))
    assert isinstance(answer, CertifiedPlan), answer
    assert answer.verdict.holds
    assert answer.measures.makespan_s.ratio == pytest.approx(1.0, abs=0.01)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_whatever_a_dead_broker_has_the_plan_and_its_bounds_are_the_same(seed: int) -> None:
    state = drawn(seed)
    figures = ((0, 0.0), (1, 1.0), (10**15, 1e12))
    answers = [certified(with_figures_of_the_dead(state, disk, rate)) for disk, rate in figures]
    first = answers[0]
    for other in answers[1:]:
        assert type(other) is type(first)
        if isinstance(first, Unsolvable):
            assert isinstance(other, Unsolvable)
            assert other.message == first.message
        else:
            assert isinstance(other, CertifiedPlan)
            assert other.schedule.after.tolist() == first.schedule.after.tolist()
            assert other.schedule.source.tolist() == first.schedule.source.tolist()
            assert other.measures == first.measures
    known = [bounds_of(with_figures_of_the_dead(state, disk, rate)) for disk, rate in figures]
    assert len({(b.makespan_s, b.leader_count, b.release_s, b.disk(b.makespan_s)) for b in known}) == 1
