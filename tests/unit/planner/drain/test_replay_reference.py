"""The fast replay against the slow one on random small cases, and its speed where it matters."""

import time

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from planner.drain.model.plan import Schedule
from planner.drain.model.state import NO_BROKER, ClusterState
from planner.drain.replay import PlanRule, replay
from planner.drain.replay.simulate import simulate
from tests.unit.planner.drain.judge_cases import ACTIVE, OUTGOING, cluster, plan
from tests.unit.planner.drain.replay_reference import reference


@st.composite
def cases(draw: st.DrawFn) -> tuple[ClusterState, Schedule]:
    brokers = draw(st.integers(3, 6))
    partitions = draw(st.integers(1, 9))
    rate = st.sampled_from([1.0, 2.0, 3.0, 5.0, 10.0])
    lists = st.lists(st.integers(0, brokers - 1), min_size=1, max_size=3, unique=True)
    before = [draw(lists) for _ in range(partitions)]
    state = cluster(
        "abcabc"[:brokers],
        [OUTGOING if draw(st.booleans()) else ACTIVE for _ in range(brokers)],
        before,
        size=[draw(st.integers(0, 60)) for _ in range(partitions)],
        ingress=[draw(rate) for _ in range(brokers)],
        egress=[draw(rate) for _ in range(brokers)],
        flow=draw(st.sampled_from([1.0, 2.5, 7.0, 100.0])),
    )
    order = draw(st.permutations(range(partitions)))
    moves = [
        (
            row,
            draw(st.permutations(range(brokers)))[: len(before[row])],
            draw(st.sampled_from([*before[row], NO_BROKER])),
        )
        for row in order[: draw(st.integers(1, partitions))]
    ]
    slots = st.sampled_from([1, 1, 2, 3, 100])
    schedule = plan(
        state,
        moves,
        slots_in=[draw(slots) for _ in range(brokers)],
        slots_out=[draw(slots) for _ in range(brokers)],
        throttle_in=draw(st.sampled_from([np.inf, 2.0, 4.0])),
        throttle_out=draw(st.sampled_from([np.inf, 3.0])),
    )
    return state, schedule


@given(cases())
@settings(max_examples=150, deadline=None)
def test_the_fast_replay_agrees_with_exact_fractions(case: tuple[ClusterState, Schedule]) -> None:
    state, schedule = case
    run, slow = replay(state, schedule), reference(state, schedule)
    entries = range(len(schedule))
    assert run.start_s.tolist() == pytest.approx([float(slow.start[e]) for e in entries], rel=1e-6, abs=1e-9)
    assert run.end_s.tolist() == pytest.approx([float(slow.end[e]) for e in entries], rel=1e-6, abs=1e-9)
    impossible = {PlanRule.BANDWIDTH, PlanRule.UNFINISHED, PlanRule.CHECKPOINTS, PlanRule.ENTRY}
    assert not [v for v in run.violations if v.rule in impossible]


def test_five_thousand_moves_among_sixty_brokers_are_replayed_in_well_under_a_second() -> None:
    rng = np.random.default_rng(7)
    count, brokers = 5_000, 60
    nodes = np.stack([rng.integers(0, brokers, count), brokers + rng.integers(0, brokers, count)], axis=1)

    def once() -> float:
        began = time.process_time()
        run = simulate(
            copies_from=np.arange(count + 1),
            nodes=nodes.astype(np.int32),
            size=rng.exponential(1e10, count),
            able=np.ones(count, dtype=np.bool_),
            capacity=np.full(2 * brokers, 5e8),
            slots=np.full(2 * brokers, 8),
            flow_cap=7e7,
            volumes=np.full(brokers, np.inf),
        )
        assert np.isfinite(run.entry_end_s).all()
        return time.process_time() - began

    once()
    assert min(once() for _ in range(3)) < 0.5
