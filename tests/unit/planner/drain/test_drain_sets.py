"""Drains where topics stay within sets of brokers: what leaves a broker goes to others of its set."""

from dataclasses import replace

from hypothesis import given, settings

from events.spec.broker_sets import NO_SET, BrokerSets
from planner.drain.certified import CertifiedPlan, certified
from planner.drain.check import check
from planner.drain.codec import request_document, request_from
from planner.drain.columns import partitions_table
from planner.drain.infeasible import Infeasible
from planner.drain.model.capacity import Capacity, FigureOrigin, FigureSource, resolve
from planner.drain.model.document import read_document, read_state, state_json
from planner.drain.model.observed import ObservationPolicy, observed_document
from planner.drain.plan import Move
from planner.drain.request import DrainRequest
from planner.drain.solve import solve
from planner.drain.solver import Unsolvable
from planner.observed import KafkaSnapshot
from tests.unit.planner.drain.drain_cases import cases, partition, request, snapshot

FAST = BrokerSets({1000: "fast", 1001: "fast", 1002: "fast"}, {"orders": "fast", "*": "rest"})


def with_sets(seen: KafkaSnapshot, asked: DrainRequest) -> DrainRequest:
    """Every other broker is `fast`; topic `t0` stays there."""
    brokers = {b: "fast" if n % 2 else "rest" for n, b in enumerate(sorted(seen.brokers))}
    return replace(asked, sets=BrokerSets(brokers, {"t0": "fast", "*": "rest"}))


@settings(max_examples=80, deadline=None)
@given(case=cases())
def test_no_copy_leaves_the_set_of_its_topic(case: tuple[KafkaSnapshot, DrainRequest]) -> None:
    seen, asked = case[0], replace(with_sets(*case), successors={})
    answer = solve(asked)
    plan = answer.feasible_part if isinstance(answer, Infeasible) else answer
    if plan is None:
        return
    assert not check(plan, seen, asked)
    for move in plan.moves:
        gone = [b for b in move.before if b not in move.after]
        assert sorted(asked.sets.set_of(b) for b in gone) == sorted(asked.sets.set_of(b) for b in move.added)


def two_sets() -> KafkaSnapshot:
    rows = [partition("orders", n, (1000, 1001)) for n in range(4)]
    return snapshot({1000: "a", 1001: "b", 1002: "a", 1003: "a", 1004: "b"}, rows)


def test_an_emptier_broker_of_another_set_gets_nothing() -> None:
    seen = two_sets()
    asked = request(seen, outgoing=(1000,), targets=(1001, 1002, 1003, 1004), sets=FAST)
    plan = solve(asked)
    assert not isinstance(plan, Infeasible)
    assert {b for move in plan.moves for b in move.added} == {1002}
    free = solve(request(seen, outgoing=(1000,), targets=(1001, 1002, 1003, 1004)))
    assert not isinstance(free, Infeasible)
    assert 1003 in {b for move in free.moves for b in move.added}


def test_the_last_broker_of_a_set_is_not_emptied_and_the_refusal_names_the_set() -> None:
    seen = snapshot({1000: "a", 1003: "a", 1004: "b"}, [partition("orders", 0, (1000,))])
    answer = solve(request(seen, outgoing=(1000,), targets=(1003, 1004), sets=FAST))
    assert isinstance(answer, Infeasible)
    assert answer.kind == "target"
    assert "nobody else of broker set fast may receive" in answer.message


def test_a_set_with_too_few_brokers_for_the_replicas_is_refused() -> None:
    seen = snapshot({1000: "a", 1001: "b", 1003: "a"}, [partition("orders", 0, (1000, 1001))])
    sets = BrokerSets({1000: "fast", 1001: "fast"}, {"orders": "fast"})
    answer = solve(request(seen, outgoing=(1000,), targets=(1001, 1003), sets=sets))
    assert isinstance(answer, Infeasible)
    assert "orders" in str(answer.stuck)


def test_the_judge_refuses_a_plan_that_leaves_the_set() -> None:
    seen = two_sets()
    free = solve(request(seen, outgoing=(1000,), targets=(1001, 1002, 1003, 1004)))
    assert not isinstance(free, Infeasible)
    asked = request(seen, outgoing=(1000,), targets=(1001, 1002, 1003, 1004), sets=FAST)
    found = [v.message for v in check(free, seen, asked) if v.kind == "target"]
    assert found
    assert all("its topic stays within broker set fast" in message for message in found)


def test_who_is_outside_of_its_set_already_may_stay_beside_where_it_was() -> None:
    seen = snapshot({1000: "a", 1001: "b", 1002: "a", 1003: "a", 1004: "a"}, [partition("orders", 0, (1003, 1001))])
    asked = request(seen, outgoing=(1003,), targets=(1000, 1001, 1002, 1004), sets=FAST)
    plan = solve(asked)
    assert not isinstance(plan, Infeasible)
    assert [move.after for move in plan.moves] == [(1004, 1001)] or isinstance(plan.moves[0], Move)
    assert not check(plan, seen, asked)


def test_sets_cross_to_the_planning_worker() -> None:
    asked = request(two_sets(), outgoing=(1000,), targets=(1001, 1002), sets=FAST)
    assert request_from(request_document(asked), partitions_table(asked.cluster)).sets == FAST
    assert FAST.set_of(9999) == NO_SET


def test_the_state_file_has_the_sets_and_a_plan_from_it_keeps_to_them() -> None:
    rows = [partition("orders", n, (1000, 1001)) for n in range(4)]
    seen = snapshot({1000: "a", 1001: "b", 1002: "a", 1003: "a", 1004: "b"}, rows)
    rate = Capacity(disk_bytes=10**12, ingress_bytes_per_s=1e8, egress_bytes_per_s=1e8)
    capacity = resolve(seen.brokers, [FigureSource(origin=FigureOrigin.GIVEN, everyone=rate)])
    document = observed_document(seen, capacity, ObservationPolicy(outgoing=(1000,), sets=FAST))
    state = read_document(document).state
    assert state.sets == FAST
    assert read_state(state_json(state)).state.sets == FAST
    plan = certified(state)
    assert isinstance(plan, CertifiedPlan)
    ids = state.brokers.id.tolist()
    assert {ids[b] for after in plan.schedule.after.tolist() for b in after if b >= 0} <= {1001, 1002}
    alone = replace(FAST, of_broker={1000: "fast"})
    refused = certified(replace(state, sets=alone))
    assert isinstance(refused, Unsolvable)
