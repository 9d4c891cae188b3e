"""The planner against drawn clusters: always complete, never a broken rule, and near the exact optimum."""

import numpy as np
from hypothesis import given, settings, strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

from planner.drain.certified import CertifiedPlan, certified
from planner.drain.model.state import BrokerState, ClusterState
from planner.drain.replay import PlanRule, replay
from planner.drain.solver import Unsolvable, solve
from tests.unit.planner.drain.judge_cases import ACTIVE, OUTGOING, cluster


@st.composite
def clusters(draw: st.DrawFn) -> ClusterState:
    """2-4 racks, 4-9 brokers, RF 1-3 placed anywhere, one or two brokers to empty; disks with room to spare."""
    count = draw(st.integers(4, 9))
    racks = "".join("abcd"[i % draw(st.integers(2, 4))] for i in range(count))
    out = draw(st.sets(st.integers(0, count - 1), min_size=1, max_size=2))
    replicas = draw(
        st.lists(
            st.integers(1, 3).flatmap(
                lambda rf: st.lists(st.integers(0, count - 1), min_size=rf, max_size=rf, unique=True)
            ),
            min_size=1,
            max_size=20,
        )
    )
    size = draw(st.lists(st.integers(0, 5000), min_size=len(replicas), max_size=len(replicas)))
    return cluster(
        racks,
        [OUTGOING if b in out else ACTIVE for b in range(count)],
        replicas,
        size=size,
        ingress=draw(st.sampled_from([10.0, 100.0])),
        egress=draw(st.sampled_from([15.0, 100.0])),
        flow=draw(st.sampled_from([4.0, 10.0, 200.0])),
    )


def _holds_enough_brokers(state: ClusterState) -> bool:
    out = np.append(state.brokers.must_empty, False)
    touched = out[state.partitions.replicas].any(axis=1)
    factors = (state.partitions.replicas[touched] >= 0).sum(axis=1)
    return int(state.brokers.may_receive.sum()) >= int(factors.max(initial=0))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(clusters())
def test_every_drain_with_room_is_complete_moves_the_fewest_bytes_and_breaks_no_rule(state: ClusterState) -> None:
    answer = certified(state)
    assert isinstance(answer, CertifiedPlan) == _holds_enough_brokers(state)
    if isinstance(answer, CertifiedPlan):
        assert answer.verdict.replay.violations == ()
        assert answer.verdict.replay.left_behind == 0
        assert answer.measures.bytes.ratio == 1.0
        assert answer.measures.makespan_s.ratio >= 1 - 1e-6


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.lists(st.integers(1, 1000), min_size=3, max_size=12), st.integers(2, 4))
def test_one_copy_at_a_time_stays_within_grahams_bound_of_the_exact_optimum(sizes: list[int], targets: int) -> None:
    """A flow that fills a broker makes the drain P||Cmax, where longest first is at most 4/3 - 1/(3m) off."""
    state = cluster(
        "a" * (targets + 1),
        [OUTGOING, *[ACTIVE] * targets],
        [[0]] * len(sizes),
        size=sizes,
        ingress=10.0,
        egress=1e6,
        flow=10.0,
        disk=10**7,
    )
    answer = solve(state)
    assert not isinstance(answer, Unsolvable)
    best_s = _least_longest_pile(np.array(sizes), targets) / 10.0
    reached_s = replay(state, answer).makespan_s
    assert best_s * (1 - 1e-6) <= reached_s <= best_s * (4 / 3 - 1 / (3 * targets)) * (1 + 1e-6)


def _least_longest_pile(size: np.ndarray, piles: int) -> float:
    """min max of pile sums, exact (HiGHS): x[i, p] binary, then the height."""
    n = size.size
    height = np.zeros(n * piles + 1)
    height[-1] = 1
    once = np.zeros((n, n * piles + 1))
    below = np.zeros((piles, n * piles + 1))
    for i in range(n):
        once[i, i * piles : (i + 1) * piles] = 1
        for p in range(piles):
            below[p, i * piles + p] = size[i]
    below[:, -1] = -1
    found = milp(
        height,
        constraints=[LinearConstraint(once, 1, 1), LinearConstraint(below, -np.inf, 0)],
        integrality=np.r_[np.ones(n * piles), 0],
        bounds=Bounds(0, np.r_[np.ones(n * piles), np.inf]),
    )
    return float(found.x[-1])


def test_the_same_state_gives_the_same_plan() -> None:
    rng = np.random.default_rng(5)
    replicas = [list(rng.permutation(6)[:3]) for _ in range(200)]
    state = cluster("abcabc", [OUTGOING, *[ACTIVE] * 5], replicas, size=rng.integers(1, 999, 200).tolist(), flow=3.0)
    first, second = solve(state), solve(state)
    assert not isinstance(first, Unsolvable)
    assert not isinstance(second, Unsolvable)
    for name in ("row", "after", "source", "slots_in", "slots_out", "throttle_out_bytes_per_s"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    assert first.checkpoints == second.checkpoints


def test_a_dead_broker_is_emptied_and_never_read() -> None:
    states = [BrokerState.DEAD, *[ACTIVE] * 3]
    state = cluster("abab", states, [[0, 1], [0, 3], [1, 0]], out_of_sync=[(0, 0), (1, 0), (2, 0)], leader=[1, 3, 1])
    answer = certified(state)
    assert isinstance(answer, CertifiedPlan)
    assert 0 not in answer.schedule.source


def test_where_leadership_would_gather_on_one_source_it_is_left_where_it_is() -> None:
    """One broker could serve all 24 copies by far the fastest, and would lead 24 partitions where 8 is the most now."""
    replicas = [[(2, 5, 8)[n % 3], 1, 0] for n in range(24)]
    egress = [1.0, 1000.0, *[1.0] * 7]
    state = cluster("abcabcabc", [OUTGOING, *[ACTIVE] * 8], replicas, egress=egress, ingress=100.0, flow=50.0)
    fastest = solve(state)
    assert not isinstance(fastest, Unsolvable)
    assert {v.rule for v in replay(state, fastest).violations} == {PlanRule.LEADERS}
    plan = certified(state)
    assert isinstance(plan, CertifiedPlan)
    assert set(plan.schedule.source[:24].tolist()) == {2, 5, 8}


def test_a_partition_that_is_written_faster_than_migration_may_copy_is_no_livelock_without_a_throttle() -> None:
    state = cluster("abca", [OUTGOING, ACTIVE, ACTIVE, ACTIVE], [[0, 1, 2]], write=1e6, egress=10.0, size=100)
    plan = certified(state)
    assert isinstance(plan, CertifiedPlan)
    assert all(np.isinf(t) or t > 2e6 for t in plan.schedule.throttle_out_bytes_per_s)
