"""Where a running plan stands, read from metadata alone."""

from dataclasses import replace

from planner.drain.plan import DrainPlan
from planner.drain.residual import residual
from planner.drain.solve import solve
from planner.observed import KafkaSnapshot, PartitionSeen, TopicPartition
from tests.unit.planner.drain.drain_cases import executed, request, roll


def started() -> tuple[KafkaSnapshot, DrainPlan]:
    seen, asked = roll()
    plan = solve(asked)
    assert isinstance(plan, DrainPlan)
    return seen, plan


def with_partition(seen: KafkaSnapshot, changed: PartitionSeen) -> KafkaSnapshot:
    others = [p for p in seen.partitions if p.name != changed.name]
    return replace(seen, partitions=(*others, changed))


def seen_of(seen: KafkaSnapshot, name: TopicPartition) -> PartitionSeen:
    return next(p for p in seen.partitions if p.name == name)


def test_a_fresh_plan_is_all_to_do() -> None:
    seen, plan = started()
    state = residual(plan, seen, (1000,))
    assert state.valid_next == plan.moves


def test_a_plan_that_ran_leaves_nothing() -> None:
    seen, plan = started()
    state = residual(plan, executed(seen, plan), (1000,))
    assert state.finished == plan.moves


def test_half_a_plan_leaves_the_other_half() -> None:
    seen, plan = started()
    state = residual(plan, executed(seen, plan, range(5)), (1000,))
    assert (len(state.finished), len(state.valid_next)) == (5, 7)


def test_our_own_running_move_is_neither_started_again_nor_finished() -> None:
    seen, plan = started()
    move = plan.moves[0]
    now = replace(seen_of(seen, move.name), replicas=(*move.after, 1000), adding=(1003,), removing=(1000,))
    state = residual(plan, with_partition(seen, now), (1000,))
    assert state.running == (move,)
    assert move not in (*state.valid_next, *state.finished)
    assert state.foreign_running == ()


def test_a_foreign_reassignment_is_waited_for() -> None:
    seen, plan = started()
    after = executed(seen, plan, range(1, len(plan.moves)))
    name = plan.moves[0].name
    now = replace(seen_of(after, name), replicas=(1002, 1001, 1000), adding=(1002,), removing=(1000,))
    state = residual(plan, with_partition(after, now), (1000,))
    assert state.changed_by_others == (name,)
    assert state.foreign_running == (name,)
    assert not state.valid_next
    assert not state.running


def test_what_a_foreign_move_left_behind_is_the_next_rounds() -> None:
    seen, plan = started()
    after = executed(seen, plan, range(1, len(plan.moves)))
    name = plan.moves[0].name
    state = residual(plan, with_partition(after, replace(seen_of(after, name), replicas=(1001, 1000))), (1000,))
    assert state.changed_by_others == (name,)
    assert not state.valid_next
    assert not state.running
    assert not state.foreign_running


def test_a_topic_deleted_meanwhile_is_forgotten() -> None:
    seen, plan = started()
    state = residual(plan, replace(seen, partitions=()), (1000,))
    assert not state.valid_next
    assert not state.running


def test_the_next_round_plans_only_what_is_left() -> None:
    seen, plan = started()
    after = executed(seen, plan, range(9))
    again = solve(request(after, outgoing=(1000,), targets=(1003,), successors={1000: 1003}, round=2))
    assert isinstance(again, DrainPlan)
    assert {m.name for m in again.moves} == {m.name for m in plan.moves[9:]}
    assert again.round == 2


def test_a_plan_is_sorted_once_for_each_reading_and_for_those_to_be_emptied() -> None:
    seen, plan = started()
    first = residual(plan, seen, (1000,))
    assert residual(plan, seen, [1000]) is first
    assert residual(plan, seen, ()) is not first
    assert residual(plan, executed(seen, plan), (1000,)).valid_next == ()
    assert residual(plan, seen, (1000,)) is first
