"""What partitions cost the CPU: a broker's use shared out over what it leads and follows."""

from dataclasses import replace

import numpy as np
import pytest

from planner.balance import Balanced, MeasuredLoads, rebalance
from planner.balance.cpu import BrokerCpu, with_cpu
from planner.balance.goals import Goal
from planner.balance.loads import Figure, borne, loads_of
from planner.drain.model.state import ClusterState
from tests.unit.planner.balance.balance_cases import applied, healthy


def a_state(write: list[float], read: list[float]) -> ClusterState:
    lists = [[n % 3, (n + 1) % 3] for n in range(len(write))]
    state = healthy("abc", lists, size=100)
    rates = {"write_bytes_per_s": np.array(write), "read_bytes_per_s": np.array(read)}
    return replace(state, partitions=replace(state.partitions, **rates))


def cpu(used: list[float]) -> BrokerCpu:
    return BrokerCpu(np.array(used), np.full(len(used), 4.0))


def test_where_all_bytes_cost_the_same_brokers_bear_what_was_measured() -> None:
    state = a_state([10.0] * 6, [5.0] * 6)
    measured = with_cpu(state, MeasuredLoads(), cpu([1.0, 1.0, 1.0]))
    loads = loads_of(state, measured)
    assert loads.known[Figure.CPU]
    total = borne(loads, state.partitions.replicas, state.partitions.leader)[:, Figure.CPU]
    assert total == pytest.approx([1.0, 1.0, 1.0])
    assert loads.capacity[:, Figure.CPU].tolist() == [4.0] * 3


def test_a_leader_costs_more_than_a_follower_and_more_with_readers() -> None:
    measured = with_cpu(a_state([10.0, 10.0, 10.0], [0.0, 40.0, 0.0]), MeasuredLoads(), cpu([1.0, 1.0, 1.0]))
    assert measured.cpu_leading is not None
    assert measured.cpu_following is not None
    assert (measured.cpu_leading > measured.cpu_following).all()
    assert measured.cpu_leading[1] / measured.cpu_following[1] > measured.cpu_leading[0] / measured.cpu_following[0]


def test_what_nobody_leads_or_writes_costs_nothing() -> None:
    state = a_state([10.0, float("nan"), 10.0], [0.0, 0.0, 0.0])
    nobody = replace(state.partitions, leader=np.array([-1, 1, 2], dtype=np.int32))
    measured = with_cpu(replace(state, partitions=nobody), MeasuredLoads(), cpu([1.0, 1.0, 1.0]))
    assert measured.cpu_leading is not None
    assert measured.cpu_leading[:2].tolist() == [0.0, 0.0]
    assert measured.cpu_leading[2] > 0


def test_a_broker_that_works_harder_gives_away_until_cpu_is_in_band() -> None:
    lists = [[n % 3, (n + 1) % 3, 3 + (n + 2) % 3] for n in range(60)]
    state = healthy("abcabc", lists, size=100)
    rates = {"write_bytes_per_s": np.full(60, 10.0), "read_bytes_per_s": np.zeros(60)}
    state = replace(state, partitions=replace(state.partitions, **rates))
    measured = with_cpu(state, MeasuredLoads(), BrokerCpu(np.array([3.0, 3.0, 3.0, 0.4, 0.4, 0.4]), np.full(6, 8.0)))
    answer = rebalance(state, measured=measured)
    assert isinstance(answer, Balanced)
    report = next(goal for goal in answer.goals if goal.goal == Goal.CPU)
    assert report.broken_before
    assert report.met
    assert rebalance(state).goals != answer.goals  # type: ignore[union-attr]
    assert len(applied(state, answer.schedule).partitions) == 60
