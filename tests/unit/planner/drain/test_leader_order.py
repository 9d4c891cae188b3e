"""Preferred leaders: exact counts at the fewest changes, against an assignment solver that knows nothing of flows."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import linear_sum_assignment

from benchmarks.drain.generator import Shape, cluster, partitions_of
from benchmarks.drain.states import drain, state
from planner.drain.model.state import NO_BROKER, Brokers, BrokerState, ClusterState, Int32s
from planner.drain.solver.leaders import demoted_order, led_by, order_leaders, preferred_order

FORBIDDEN = 1e6


def cluster_of(lists: list[list[int]], *, brokers: int, outgoing: tuple[int, ...] = ()) -> ClusterState:
    width = max(len(one) for one in lists)
    replicas = np.array([one + [NO_BROKER] * (width - len(one)) for one in lists], dtype=np.int32)
    count = len(lists)
    states = np.full(brokers, BrokerState.ACTIVE, dtype=np.int8)
    states[list(outgoing)] = BrokerState.OUTGOING
    return ClusterState(
        brokers=Brokers(
            id=np.arange(brokers, dtype=np.int32),
            rack=np.zeros(brokers, dtype=np.int32),
            racks=("a",),
            state=states,
            disk_bytes=np.full(brokers, 10**12, dtype=np.int64),
            ingress_bytes_per_s=np.full(brokers, 1e8),
            egress_bytes_per_s=np.full(brokers, 1e8),
        ),
        partitions=partitions_of(
            topics=("t",),
            topic=np.zeros(count, dtype=np.int32),
            partition=np.arange(count, dtype=np.int32),
            replicas=replicas,
            size_bytes=np.full(count, 10**9, dtype=np.int64),
            write_bytes_per_s=np.zeros(count),
            read_bytes_per_s=np.zeros(count),
        ),
        disk_limit=0.85,
        flow_bytes_per_s=70e6,
    )


def optimum(state: ClusterState, lists: Int32s) -> tuple[int, int]:
    """(least largest count, fewest changes at that count), by assigning partitions to `count` seats per broker."""
    count = -(-len(lists) // int(state.brokers.may_receive.sum()))
    while True:
        seats = np.repeat(np.arange(len(state.brokers)), count)
        cost = np.full((len(lists), seats.size), FORBIDDEN)
        for p, one in enumerate(lists):
            for b in one[one >= 0]:
                if state.brokers.may_receive[b]:
                    cost[p, seats == b] = float(b != state.partitions.leader[p])
        if seats.size >= len(lists):
            rows, columns = linear_sum_assignment(cost)
            total = cost[rows, columns].sum()
            if total < FORBIDDEN:
                return count, int(total)
        count += 1


@st.composite
def drained_clusters(draw: st.DrawFn) -> tuple[ClusterState, Int32s, Int32s]:
    """A small cluster, and for each partition of broker 0 a list without it."""
    brokers = draw(st.integers(3, 6))
    lists = draw(
        st.lists(st.permutations(range(brokers)).map(lambda order: list(order[:2])), min_size=1, max_size=14)
        | st.lists(
            st.permutations(range(brokers)).flatmap(lambda o: st.integers(1, 3).map(lambda n: list(o[:n]))),
            min_size=1,
            max_size=14,
        )
    )
    built = cluster_of(lists, brokers=brokers, outgoing=(0,))
    replicas = built.partitions.replicas
    row = np.flatnonzero((replicas == 0).any(axis=1)).astype(np.int32)
    after = replicas[row].copy()
    for one in after:
        free = [b for b in range(1, brokers) if b not in one]
        one[one == 0] = draw(st.sampled_from(free)) if free else NO_BROKER
    after = np.take_along_axis(after, np.argsort(after == NO_BROKER, axis=1, kind="stable"), axis=1)
    return built, row, after


@settings(max_examples=150, deadline=None)
@given(drained_clusters())
def test_counts_and_changes_are_those_of_an_exact_assignment(drawn: tuple[ClusterState, Int32s, Int32s]) -> None:
    built, row, after = drawn
    order = order_leaders(built, row, after)
    lists = built.partitions.replicas.copy()
    lists[row] = after
    most, changes = optimum(built, lists)
    assert order.most == most == np.bincount(order.leader).max()
    assert (order.leader != built.partitions.leader).sum() == changes


@settings(max_examples=60, deadline=None)
@given(drained_clusters())
def test_lists_keep_their_members_and_followers_their_order(drawn: tuple[ClusterState, Int32s, Int32s]) -> None:
    built, row, after = drawn
    order = order_leaders(built, row, after)
    given_lists = np.vstack([after, built.partitions.replicas[order.extra_row]])
    ordered = np.vstack([order.after, order.extra_after])
    assert not set(order.extra_row.tolist()) & set(row.tolist())
    assert (order.extra_after[:, 0] != built.partitions.replicas[order.extra_row, 0]).all()
    assert np.array_equal(ordered[:, 0], order.leader[np.concatenate([row, order.extra_row])])
    for before, now in zip(given_lists.tolist(), ordered.tolist(), strict=True):
        assert now == [now[0], *(b for b in before if b != now[0])]


def test_a_leader_that_is_not_preferred_now_keeps_leading_at_the_cost_of_an_order_only_entry() -> None:
    built = cluster_of([[0, 1], [0, 1]], brokers=2)
    led = replace(built, partitions=replace(built.partitions, leader=np.array([0, 1], dtype=np.int32)))
    order = preferred_order(led)
    assert order.extra_row.tolist() == [1]
    assert order.extra_after.tolist() == [[1, 0]]


def test_a_replica_out_of_sync_is_no_leader_of_an_unlisted_partition() -> None:
    built = cluster_of([[0, 1], [0, 1]], brokers=2)
    in_sync = np.array([[True, False], [True, False]])
    lagging = replace(built, partitions=replace(built.partitions, in_sync=in_sync))
    order = preferred_order(lagging)
    assert order.leader.tolist() == [0, 0]
    assert order.most == 2


def test_a_pinned_partition_keeps_its_order_and_the_others_make_up_for_it() -> None:
    built = cluster_of([[0, 1], [0, 1], [0, 1], [0, 1]], brokers=2)
    order = preferred_order(built, pinned=np.array([True, True, False, False]))
    assert order.most == 2
    assert order.extra_row.tolist() == [2, 3]


def test_counts_no_choice_can_even_out_stop_at_the_least_that_is_possible() -> None:
    built = cluster_of([[0], [0], [0], [0, 1], [1, 2], [2, 1]], brokers=3)
    order = preferred_order(built)
    assert order.most == 3
    assert order.leader.tolist()[:4] == [0, 0, 0, 1]


def test_a_partition_without_a_possible_leader_is_left_as_it_is() -> None:
    built = cluster_of([[0], [1, 0]], brokers=2, outgoing=(0,))
    order = preferred_order(built)
    assert order.leader.tolist() == [0, 1]
    assert order.extra_row.size == 0


def test_demotion_takes_all_leadership_and_puts_the_broker_last() -> None:
    built = cluster_of([[0, 1, 2], [0, 2, 1], [1, 0, 2], [2, 0, 1]], brokers=3)
    order = demoted_order(built, np.array([True, False, False]))
    assert sorted(order.leader.tolist()) == [1, 1, 2, 2]
    assert order.extra_row.tolist() == [0, 1]
    assert order.extra_after[:, -1].tolist() == [0, 0]


def test_a_demoted_broker_keeps_what_nobody_else_could_lead() -> None:
    built = cluster_of([[0], [0, 1]], brokers=2)
    order = demoted_order(built, np.array([True, False]))
    assert order.leader.tolist() == [0, 1]


def test_what_demotion_does_not_touch_stays_although_counts_are_uneven() -> None:
    built = cluster_of([[1, 2], [1, 2], [1, 2], [0, 2]], brokers=3)
    order = demoted_order(built, np.array([True, False, False]))
    assert order.leader.tolist() == [1, 1, 1, 2]


@pytest.mark.parametrize("name", ["c12", "c60", "rc40-b0"])
def test_even_counts_without_a_move_cost_no_more_changes_than_the_surplus(name: str) -> None:
    drained = state(name)
    healthy = drain(drained, ())
    healthy = replace(healthy, brokers=replace(healthy.brokers, state=np.zeros(len(healthy.brokers), dtype=np.int8)))
    led = np.bincount(healthy.partitions.leader, minlength=len(healthy.brokers))
    least = -(-len(healthy.partitions) // len(healthy.brokers))
    order = preferred_order(healthy)
    assert order.most == least
    assert (order.leader != healthy.partitions.leader).sum() <= 1.3 * np.maximum(0, led - least).sum()


def test_the_chosen_leader_comes_first_and_padding_stays_last() -> None:
    lists = np.array([[3, 1, 2], [4, 5, NO_BROKER]], dtype=np.int32)
    assert led_by(lists, np.array([2, 5], dtype=np.int32)).tolist() == [[2, 3, 1], [5, 4, NO_BROKER]]


def test_uneven_racks_are_evened_out_too() -> None:
    drawn = cluster(Shape(brokers=13, topics=40, partitions=1_300), seed=4)
    order = preferred_order(drawn)
    assert order.most == -(-len(drawn.partitions) // 13)
