"""A sound plan has no violation; every way to spoil it is found, by the right rule."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from planner.drain.judge import judge
from planner.drain.model.plan import Schedule
from planner.drain.model.state import NO_BROKER, ClusterState
from planner.drain.replay import PlanRule, ReplayLimits, replay
from tests.unit.planner.drain.judge_cases import ACTIVE, DEAD, NEW, OUTGOING, cluster, plan

Case = tuple[ClusterState, Schedule]


def sound() -> Case:
    """Brokers 0 (a, outgoing), 1 (b), 2 (c), 3 (a), 4 (b, outgoing, empty), 5 (c, dead, empty)."""
    state = cluster(
        "abcabc",
        [OUTGOING, ACTIVE, ACTIVE, NEW, OUTGOING, DEAD],
        [[0, 1, 2], [1, 0, 2], [2, 1, 3]],
        min_isr=2,
        write=1.0,
        egress=1000.0,
    )
    return state, plan(state, [(0, [3, 1, 2], 1), (1, [1, 3, 2], 1)], slots_in=2, slots_out=2, throttle_out=50.0)


def after(row: int, replicas: list[int]) -> Callable[[Case], Case]:
    def spoil(case: Case) -> Case:
        state, schedule = case
        lists = schedule.after.copy()
        lists[row] = [*replicas, *[NO_BROKER] * (lists.shape[1] - len(replicas))]
        return state, replace(schedule, after=lists)

    return spoil


def schedule_with(**fields: object) -> Callable[[Case], Case]:
    return lambda case: (case[0], replace(case[1], **fields))  # type: ignore[arg-type]


def state_with(**fields: object) -> Callable[[Case], Case]:
    return lambda case: (replace(case[0], **fields), case[1])  # type: ignore[arg-type]


def partitions_with(**fields: object) -> Callable[[Case], Case]:
    return lambda case: (replace(case[0], partitions=replace(case[0].partitions, **fields)), case[1])  # type: ignore[arg-type]


def lagging(row: int, column: int) -> Callable[[Case], Case]:
    def spoil(case: Case) -> Case:
        in_sync = case[0].partitions.in_sync.copy()
        in_sync[row, column] = False
        return partitions_with(in_sync=in_sync)(case)

    return spoil


MUTATIONS: list[tuple[str, Callable[[Case], Case], PlanRule]] = [
    ("a replica is dropped", after(0, [3, 1]), PlanRule.TARGETS),
    ("a broker is named twice", after(0, [3, 3, 1]), PlanRule.TARGETS),
    ("an outgoing broker receives", after(0, [3, 4, 2]), PlanRule.TARGETS),
    ("a dead broker receives", after(0, [3, 1, 5]), PlanRule.TARGETS),
    ("the outgoing broker keeps its replica", after(0, [0, 1, 2]), PlanRule.TARGETS),
    ("another broker than the named one receives", state_with(destinations={0: (1,)}), PlanRule.TARGETS),
    ("two replicas share a rack", after(1, [0, 3, 1]), PlanRule.RACKS),
    ("a replica that stays is out of sync", lagging(0, 2), PlanRule.IN_SYNC),
    ("the source is out of sync", lagging(0, 1), PlanRule.SOURCE),
    ("the source holds no replica", schedule_with(source=np.array([3, 1], np.int32)), PlanRule.SOURCE),
    ("the source is dead", schedule_with(source=np.array([5, 1], np.int32)), PlanRule.SOURCE),
    ("nobody leads and nobody is named", lambda c: partitions_with(leader=np.full(3, -1, np.int32))(
        schedule_with(source=np.full(2, NO_BROKER, np.int32))(c)), PlanRule.SOURCE),
    ("the target is too full", state_with(disk_limit=0.00025), PlanRule.DISK),
    ("a target has no slot at all", schedule_with(slots_in=np.zeros(6, np.int32)), PlanRule.UNFINISHED),
    ("a source has no slot at all", schedule_with(slots_out=np.zeros(6, np.int32)), PlanRule.UNFINISHED),
    ("a throttle is zero", schedule_with(throttle_in_bytes_per_s=np.zeros(6)), PlanRule.UNFINISHED),
    ("in-sync followers eat the throttle", schedule_with(throttle_out_bytes_per_s=np.full(6, 4.0)), PlanRule.LIVELOCK),
    ("the list does not end with a checkpoint", schedule_with(checkpoints=(1,)), PlanRule.CHECKPOINTS),
    ("a checkpoint lies behind the end", schedule_with(checkpoints=(1, 3)), PlanRule.CHECKPOINTS),
    ("checkpoints do not ascend", schedule_with(checkpoints=(2, 1, 2)), PlanRule.CHECKPOINTS),
    ("a partition is listed twice", schedule_with(row=np.array([0, 0], np.int32)), PlanRule.ENTRY),
]  # fmt: skip


def test_the_sound_plan_breaks_nothing() -> None:
    verdict = judge(*sound())
    assert verdict.replay.violations == ()
    assert verdict.holds


@pytest.mark.parametrize(("spoil", "rule"), [m[1:] for m in MUTATIONS], ids=[m[0] for m in MUTATIONS])
def test_a_mutated_plan_is_refused(spoil: Callable[[Case], Case], rule: PlanRule) -> None:
    state, schedule = spoil(sound())
    verdict = judge(state, schedule)
    assert rule in {v.rule for v in verdict.replay.violations}
    assert not verdict.holds


def test_a_partition_missing_from_the_plan_is_left_behind() -> None:
    state, _ = sound()
    verdict = judge(state, plan(state, [(0, [3, 1, 2], 1)]))
    assert verdict.replay.left_behind == 1
    assert verdict.replay.release_s[0] == float("inf")
    assert not verdict.holds


def test_more_entries_than_one_request_applies_between_two_checkpoints_are_refused() -> None:
    state, schedule = sound()
    run = replay(state, schedule, limits=ReplayLimits(entries_per_request=1))
    assert [v.rule for v in run.violations] == [PlanRule.OPEN_MOVES]


def test_a_source_that_gathers_too_many_leaders_is_refused_at_the_checkpoint() -> None:
    state = cluster("abcd", [OUTGOING, ACTIVE, ACTIVE, NEW], [[0, 1, 2], [2, 1, 0], [0, 1, 2]], leader=[0, 2, 0])
    schedule = plan(state, [(0, [3, 1, 2], 1), (1, [2, 1, 3], 1), (2, [1, 3, 2], 1)])
    assert not replay(state, schedule).violations
    run = replay(state, schedule, limits=ReplayLimits(leader_peak=1.0))
    assert [(v.rule, v.subject) for v in run.violations] == [(PlanRule.LEADERS, "checkpoint 3")]


def test_in_sync_copies_below_min_isr_at_completion_are_refused() -> None:
    """Two of three replicas were lost with dead brokers; min ISR 3 cannot be met by one copy."""
    state = cluster("abcd", [DEAD, ACTIVE, ACTIVE, NEW], [[1, 0, 2]], out_of_sync=[(0, 0), (0, 2)], min_isr=3)
    run = replay(state, plan(state, [(0, [1, 3, 2], 1)]))
    assert {v.rule for v in run.violations} == {PlanRule.IN_SYNC}


def test_what_was_lost_with_a_dead_broker_is_repaired_without_complaint() -> None:
    state = cluster("abcd", [DEAD, ACTIVE, ACTIVE, NEW], [[1, 0, 2]], out_of_sync=[(0, 0)], min_isr=2)
    verdict = judge(state, plan(state, [(0, [1, 3, 2], 1)]))
    assert verdict.holds


def test_racks_that_lost_their_last_broker_are_not_missed() -> None:
    state = cluster("abcb", [OUTGOING, ACTIVE, ACTIVE, NEW], [[0, 1, 2]])
    assert judge(state, plan(state, [(0, [3, 1, 2], 1)])).holds


def test_a_violation_tells_where_when_and_how_much() -> None:
    state, schedule = sound()
    text = str(replay(replace(state, disk_limit=0.00025), schedule).violations[0])
    assert text == "H4 broker 1004 at 0 s: 300 bytes held or arriving, 250 allowed"
