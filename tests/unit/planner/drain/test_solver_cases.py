"""Known failures of other planners as cases, and everything a drain may meet besides bytes."""

import json

import numpy as np
import pytest

from planner.drain.certified import CertifiedPlan, certified
from planner.drain.model.plan import Schedule
from planner.drain.model.state import NO_BROKER, BrokerState, ClusterState
from planner.drain.replay import PlanRule, replay
from planner.drain.solver import Unsolvable, solve
from planner.drain.solver.assemble import ENTRIES_PER_REQUEST, checkpoints_of, peak_of
from tests.unit.planner.drain.judge_cases import ACTIVE, DEAD, NEW, OUTGOING, cluster


def _plan(state: ClusterState) -> CertifiedPlan:
    answer = certified(state)
    assert isinstance(answer, CertifiedPlan), answer
    return answer


def _moves(schedule: Schedule, state: ClusterState) -> int:
    before = state.partitions.replicas[schedule.row]
    return int(sum(len(set(a) - set(b)) for a, b in zip(schedule.after.tolist(), before.tolist(), strict=True)))


def test_kafka_3438_a_small_rack_is_not_overloaded() -> None:
    """Racks of 3, 3 and 1 brokers, RF 3: the lonely broker holds one of each, a drain elsewhere must not add to it."""
    rng = np.random.default_rng(1)
    replicas = [[int(rng.integers(0, 3)), int(rng.integers(3, 6)), 6] for _ in range(60)]  # 19 equal logs leave
    state = cluster("aaabbbc", [OUTGOING, *[ACTIVE] * 6], replicas, flow=5.0)
    plan = _plan(state)
    arrivals = [set(a) - set(state.partitions.replicas[r]) for r, a in _listed(plan.schedule)]
    assert set().union(*arrivals) <= {1, 2}
    assert plan.measures.makespan_s.ratio <= 20 / 19 + 1e-6


def _listed(schedule: Schedule) -> list[tuple[int, list[int]]]:
    return list(zip(schedule.row.tolist(), schedule.after.tolist(), strict=True))


def test_small_drains_whose_entries_copy_two_replicas_at_once_leave_no_target_waiting_for_a_shared_source() -> None:
    """The demo's scale-down 6 -> 3 took twice its bound: with one slot each, two copies shared one source."""
    twos = [[3, 4, 2], [3, 1, 5], [0, 4, 5]] * 2
    ones = [[3, 1, 2], [0, 4, 2], [0, 1, 5]] * 2
    state = cluster("abcabc", [ACTIVE] * 3 + [OUTGOING] * 3, [*twos, *ones], size=400, egress=10.0, flow=12.7)
    plan = _plan(state)
    assert plan.measures.makespan_s.ratio <= 1.05
    assert plan.measures.release_s.ratio <= 1.05


def test_kafka_kit_178_no_room_is_a_typed_answer_and_never_a_dropped_replica() -> None:
    state = cluster("aab", [OUTGOING, ACTIVE, ACTIVE], [[0, 2]] * 4, size=300, disk=[2000, 1000, 2000])
    answer = solve(state, allow_partial=True)
    assert isinstance(answer, Unsolvable)
    assert answer.kind == "disk"
    assert "in rack a" in answer.message
    assert answer.part is not None
    assert len(set(answer.part.row.tolist()) - set(answer.stuck.tolist())) > 0
    assert (answer.part.after != NO_BROKER).sum(axis=1).tolist() == [2] * len(answer.part)


def test_no_second_broker_for_a_second_replica_names_the_broker_to_add() -> None:
    answer = solve(cluster("ab", [OUTGOING, ACTIVE], [[0, 1]]))
    assert isinstance(answer, Unsolvable)
    assert (answer.kind, answer.stuck.tolist()) == ("broker", [0])
    assert "add a broker in rack a" in answer.message


def test_kafka_kit_432_no_replica_list_repeats_a_broker() -> None:
    rng = np.random.default_rng(2)
    replicas = [rng.permutation(6)[:3].tolist() for _ in range(150)]
    state = cluster("aabbcc", [OUTGOING, OUTGOING, *[ACTIVE] * 4], replicas, flow=4.0)
    for _, after in _listed(_plan(state).schedule):
        assert len(set(after)) == len(after)


def test_killerwhiles_twenty_brokers_need_one_move() -> None:
    """Broker 19 of 20 holds one replica of ten partitions, RF 2 over two zones: the optimum is that one move."""
    replicas = [[2 * i % 18, (2 * i + 1) % 18] for i in range(9)] + [[18, 19]]
    state = cluster("ab" * 10, [*[ACTIVE] * 19, OUTGOING], replicas)
    assert _moves(_plan(state).schedule, state) == 1


def test_a_roll_forward_keeps_to_the_named_successors() -> None:
    rng = np.random.default_rng(3)
    replicas = [[int(rng.integers(0, 2)) * 3 + r for r in rng.permutation(3)] for _ in range(40)]
    destinations = {b: (b + 6,) for b in range(6)}
    state = cluster("abc" * 4, [*[OUTGOING] * 6, *[NEW] * 6], replicas, destinations=destinations, flow=3.0)
    for row, after in _listed(_plan(state).schedule):
        assert sorted(after) == sorted(b + 6 for b in state.partitions.replicas[row].tolist())


def test_a_partition_below_its_factor_waits_for_repair() -> None:
    state = cluster("aab", [OUTGOING, ACTIVE, ACTIVE], [[0, 2], [0, 2]], out_of_sync=[(1, 2)])
    answer = solve(state, allow_partial=True)
    assert isinstance(answer, Unsolvable)
    assert (answer.kind, answer.stuck.tolist()) == ("repair", [1])
    assert answer.part is not None
    assert answer.part.row.tolist() == [0]


def test_a_partition_whose_only_replica_is_dead_is_named() -> None:
    answer = solve(cluster("aa", [DEAD, ACTIVE], [[0]], out_of_sync=[(0, 0)], leader=[NO_BROKER]))
    assert isinstance(answer, Unsolvable)
    assert answer.kind == "repair"
    assert "t-0" in answer.message


def test_excluded_and_pinned_partitions_stay_and_are_named() -> None:
    state = cluster("aaa", [OUTGOING, ACTIVE, ACTIVE], [[0], [0]])
    kept = solve(state, excluded_topics={"t"})
    assert not isinstance(kept, Unsolvable)
    assert _moves(kept, state) == 0
    assert "2 partitions stay" in kept.assumptions[0]
    one = solve(state, pinned={0})
    assert not isinstance(one, Unsolvable)
    assert one.row.tolist()[:1] == [1]


def test_nothing_to_drain_is_an_empty_plan() -> None:
    plan = solve(cluster("ab", [ACTIVE, ACTIVE], [[0, 1]]))
    assert not isinstance(plan, Unsolvable)
    assert (len(plan), plan.checkpoints) == (0, ())


def test_throttles_leave_the_copies_their_rate_above_the_in_sync_charge() -> None:
    state = cluster(
        "aaabb", [OUTGOING, *[ACTIVE] * 4], [[0, 3], [0, 4]], write=2.0, ingress=50.0, egress=50.0, flow=20.0
    )
    schedule = _plan(state).schedule
    for source in {s for s in schedule.source.tolist() if s != NO_BROKER}:
        assert schedule.throttle_out_bytes_per_s[source] > 20.0
    assert not [v for v in replay(state, schedule).violations if v.rule is PlanRule.LIVELOCK]


def test_unknown_write_rates_are_an_assumption() -> None:
    plan = _plan(cluster("aa", [OUTGOING, ACTIVE], [[0]]))
    assert any("write rates of 1 moved partitions are unknown" in line for line in plan.schedule.assumptions)


@pytest.mark.parametrize("state", [BrokerState.OUTGOING, BrokerState.DEAD])
def test_a_whole_rack_may_leave(state: BrokerState) -> None:
    gone = [(0, 0), (1, 0)] if state is DEAD else []
    plan = _plan(cluster("abbcc", [state, *[ACTIVE] * 4], [[0, 1, 3], [2, 0, 4]], out_of_sync=gone, leader=[1, 2]))
    assert plan.verdict.replay.left_behind == 0


def test_checkpoints_stand_at_phase_ends_and_never_further_apart_than_one_request() -> None:
    phase = np.repeat([0, 1], [25_000, 10])
    found = checkpoints_of(phase, 5)
    assert found == (10_000, 20_000, 25_000, 25_010, 25_015)
    assert max(np.diff((0, *found))) <= ENTRIES_PER_REQUEST


def test_the_peak_counts_intervals_that_are_open_at_once() -> None:
    broker = np.array([0, 0, 1], dtype=np.int32)
    start, end = np.array([0.0, 1.0, 0.0]), np.array([2.0, 3.0, 1.0])
    assert peak_of(broker, start, end, np.array([5.0, 7.0, 1.0]), 2).tolist() == [12.0, 1.0]


def test_a_plan_is_plain_data() -> None:
    plan = _plan(cluster("aa", [OUTGOING, ACTIVE], [[0]]))
    assert json.dumps(plan.schedule.after.tolist()) == "[[1]]"
