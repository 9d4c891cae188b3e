"""A rebalance where topics stay within sets of brokers: no replica leaves its set, those outside come home, and each
set is even by itself."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings, strategies as st

from events.spec.broker_sets import BrokerSets
from planner.balance.answer import Answer, Balanced, Shortfall
from planner.balance.goals import DEFAULT_GOALS, Goal
from planner.balance.in_sets import SetTerms, rebalance_in_sets
from planner.balance.limits import limits_of
from planner.balance.loads import Figure, MeasuredLoads, borne, led_now, loads_of
from planner.balance.rebalance import rebalance
from planner.drain.model.state import NO_BROKER, ClusterState
from tests.unit.planner.balance.balance_cases import applied, broken_rules, healthy, topics_apart

TERMS = SetTerms(goals=DEFAULT_GOALS)


def sets_of(state: ClusterState, fast: set[int]) -> BrokerSets:
    """`fast` (rows) hold `orders`; all the others everything else."""
    ids = state.brokers.id.tolist()
    return BrokerSets({ids[row]: "fast" for row in fast}, {"orders": "fast"})


def outside(state: ClusterState, sets: BrokerSets) -> int:
    """Replicas outside of the set of their topic."""
    ids, parts = state.brokers.id.tolist(), state.partitions
    return sum(
        len(sets.outside(parts.topics[parts.topic[row]], [ids[b] for b in parts.replicas[row] if b != NO_BROKER]))
        for row in range(len(parts))
    )


def best_of(answer: Answer) -> Balanced:
    best = answer.best if isinstance(answer, Shortfall) else answer
    assert best is not None
    return best


@st.composite
def clusters(draw: st.DrawFn, *, at_home: bool) -> tuple[ClusterState, BrokerSets]:
    """Nine brokers in three racks, the last three are `fast`; replicas of a partition in racks of their own."""
    racks = "abcabcabc"
    count = draw(st.integers(2, 14))
    topic = draw(st.lists(st.integers(0, 1), min_size=count, max_size=count))
    lists = []
    for own in topic:
        home = [6, 7, 8] if own else [0, 1, 2, 3, 4, 5]
        pool = home if at_home else range(9)
        width = draw(st.integers(1, 3))
        chosen = draw(st.permutations("abc"))[:width]
        lists.append([draw(st.sampled_from([b for b in pool if racks[b] == rack])) for rack in chosen])
    sizes = draw(st.lists(st.integers(1, 50), min_size=count, max_size=count))
    state = healthy(racks, lists, size=[s * 10**6 for s in sizes], disk=10**9, ingress=5e7, egress=5e7)
    state = topics_apart(state, topic, ("audit", "orders"))
    return state, sets_of(state, {6, 7, 8})


@settings(max_examples=60, deadline=None)
@given(case=clusters(at_home=False))
def test_every_replica_is_home_afterwards_and_no_rule_of_a_plan_is_broken(
    case: tuple[ClusterState, BrokerSets],
) -> None:
    state, sets = case
    answer = rebalance_in_sets(replace(state, sets=sets), TERMS)
    assert isinstance(answer, Balanced)
    assert not broken_rules(state, answer.schedule)
    over = applied(state, answer.schedule)
    assert outside(over, sets) == 0
    report = answer.goals[0]
    assert (report.goal, report.hard, report.met) == (Goal.BROKER_SETS, True, True)
    assert (report.broken_before > 0) == (outside(state, sets) > 0)


@settings(max_examples=40, deadline=None)
@given(case=clusters(at_home=True))
def test_no_replica_ever_leaves_its_set_whatever_the_goals(case: tuple[ClusterState, BrokerSets]) -> None:
    state, sets = case
    goals = tuple(aim for aim in DEFAULT_GOALS if aim.goal in (Goal.REPLICAS, Goal.DISK))
    best = best_of(rebalance_in_sets(replace(state, sets=sets), replace(TERMS, goals=goals, brings_home=False)))
    over = applied(state, best.schedule)
    assert outside(over, sets) == 0
    assert Goal.BROKER_SETS not in {report.goal for report in best.goals}


@settings(max_examples=40, deadline=None)
@given(case=clusters(at_home=True))
def test_a_set_is_as_even_as_if_it_were_a_cluster_of_its_own(case: tuple[ClusterState, BrokerSets]) -> None:
    state, sets = case
    best = best_of(rebalance_in_sets(replace(state, sets=sets), TERMS))
    again = best_of(rebalance_in_sets(replace(applied(state, best.schedule), sets=sets), TERMS))
    if best.goals and all(report.met for report in best.goals):
        assert not len(again.schedule), "a second plan is empty"
    alone = applied(state, best.schedule)
    for rows, own in ((np.arange(6), 0), (np.arange(6, 9), 1)):
        kept = state.partitions.topic == own
        loads = loads_of(alone, MeasuredLoads())
        amount = borne(loads, alone.partitions.replicas, led_now(alone))[rows, Figure.REPLICAS]
        assert amount.sum() == (state.partitions.replicas[kept] != NO_BROKER).sum()


def test_a_cluster_that_is_one_set_gets_the_plan_of_a_cluster_without_sets() -> None:
    lists = [[0, 1, 2]] * 9 + [[3, 4, 5]]
    state = healthy("abcabc", lists, size=[10**6] * 10, disk=10**9)
    sets = BrokerSets(dict.fromkeys(state.brokers.id.tolist(), "all"), {"*": "all"})
    plain, one = best_of(rebalance(state)), best_of(rebalance_in_sets(replace(state, sets=sets), TERMS))
    assert len(one.schedule) > 0
    assert np.array_equal(one.schedule.row, plain.schedule.row)
    assert np.array_equal(one.schedule.after, plain.schedule.after)
    assert one.goals[1:] == plain.goals or [g.broken_after for g in one.goals[1:]] == [
        g.broken_after for g in plain.goals
    ]


def test_shares_are_of_the_set_not_of_the_cluster() -> None:
    """Without sets the three fast brokers would have to give most of what they hold."""
    lists = [[6, 7, 8]] * 12 + [[0, 1, 2], [3, 4, 5]]
    state = healthy("abcabcabc", lists, size=[10**6] * 14, disk=10**9)
    state = topics_apart(state, [1] * 12 + [0] * 2, ("audit", "orders"))
    sets = sets_of(state, {6, 7, 8})
    best = best_of(rebalance_in_sets(replace(state, sets=sets), TERMS))
    assert best.bytes_moved == 0
    replicas = next(report for report in best.goals if report.goal is Goal.REPLICAS)
    assert replicas.met
    assert limits_of(
        state, (loads := loads_of(state, MeasuredLoads())), DEFAULT_GOALS,
        borne(loads, state.partitions.replicas, led_now(state)),
    ).high[6, Figure.REPLICAS] < 12  # fmt: skip


def test_what_comes_home_loses_no_rack_and_the_set_that_is_too_narrow_is_named() -> None:
    state = healthy("abcab", [[0, 1, 2]], size=[10**6], disk=10**9)
    state = topics_apart(state, [0], ("orders",))
    sets = BrokerSets({int(state.brokers.id[3]): "fast", int(state.brokers.id[4]): "fast"}, {"orders": "fast"})
    answer = rebalance_in_sets(replace(state, sets=sets), TERMS)
    assert isinstance(answer, Shortfall)
    assert "broker set fast has 2 brokers that may receive, 3 replicas need 3" in answer.message
    assert answer.stuck == (0,)
    assert answer.best is not None
    assert not len(answer.best.schedule)
    narrow = healthy("abcaab", [[0, 1, 2]], size=[10**6], disk=10**9)
    ids = narrow.brokers.id.tolist()
    answer = rebalance_in_sets(replace(narrow, sets=BrokerSets(dict.fromkeys(ids[3:], "fast"), {"*": "fast"})), TERMS)
    assert isinstance(answer, Shortfall)
    assert "broker set fast has brokers in 2 racks that may receive, 3 racks would be lost" in answer.message


def test_a_set_without_room_says_so() -> None:
    state = healthy("abc" * 2, [[0, 1, 2]], size=[900], disk=1000)
    state = replace(state, brokers=replace(state.brokers, disk_bytes=np.array([10**6] * 3 + [1000] * 3)))
    sets = BrokerSets(dict.fromkeys(state.brokers.id.tolist()[3:], "fast"), {"*": "fast"})
    answer = rebalance_in_sets(replace(state, sets=sets), TERMS)
    assert isinstance(answer, Shortfall)
    assert "a disk is full" in answer.message


def test_excluded_topics_stay_where_they_are_and_chosen_brokers_receive_of_their_own_set_alone() -> None:
    lists = [[0, 1, 2]] * 6 + [[6, 7, 8]] * 6
    state = healthy("abcabcabcabc", lists, size=[10**6] * 12, disk=10**9)
    state = topics_apart(state, [0] * 6 + [1] * 6, ("audit", "orders"))
    ids = state.brokers.id.tolist()
    sets = sets_of(state, {6, 7, 8, 9, 10, 11})
    onto = replace(TERMS, onto=(ids[9], ids[10], ids[11]))
    best = best_of(rebalance_in_sets(replace(state, sets=sets), onto))
    added = {b for entry in best.schedule.after for b in entry.tolist()} - {0, 1, 2, 6, 7, 8, NO_BROKER}
    assert added == {9, 10, 11}
    assert {int(state.partitions.topic[row]) for row in best.schedule.row} == {1}
    away = replace(TERMS, excluded_topics=frozenset({"orders"}))
    rest = best_of(rebalance_in_sets(replace(state, sets=sets), away)).schedule.row
    moved = {int(state.partitions.topic[row]) for row in rest}
    assert moved == {0}
