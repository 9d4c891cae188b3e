"""Batches, throttles and bounds."""

from dataclasses import replace

import pytest

from planner.drain.bounds import bounds_of
from planner.drain.infeasible import Infeasible
from planner.drain.plan import DrainPlan
from planner.drain.request import Bandwidth, BatchLimits
from planner.drain.solve import solve
from tests.unit.planner.drain.drain_cases import MIB, partition, request, roll, scale_down, snapshot


def plan_of(asked: object) -> DrainPlan:
    answer = solve(asked)  # type: ignore[arg-type]
    assert isinstance(answer, DrainPlan), answer
    return answer


def test_batches_hold_every_move_once_within_the_limits() -> None:
    seen, asked = scale_down()
    leader = {p.name: p.leader for p in seen.partitions}
    limits = BatchLimits(max_moves=7, max_moves_per_broker=3, max_bytes_per_broker=400 * MIB)
    plan = plan_of(replace(asked, limits=limits))
    assert sorted(i for b in plan.batches for i in b.moves) == list(range(len(plan.moves)))
    for batch in plan.batches:
        moves = [plan.moves[i] for i in batch.moves]
        assert len(moves) <= 7
        for broker in range(1000, 1006):
            taken = [m.bytes // len(m.added) for m in moves if broker in m.added]
            given = [m.bytes for m in moves if leader[m.name] == broker]
            for copies in (taken, given):
                assert len(copies) < 2 or (len(copies) <= 3 and sum(copies) <= 400 * MIB)


def test_a_move_above_the_byte_limit_runs_alone_on_its_brokers() -> None:
    rows = [partition("t", i, (1,), size=size * MIB) for i, size in enumerate((50, 1, 1))]
    seen = snapshot({1: "", 2: ""}, rows)
    limits = BatchLimits(max_bytes_per_broker=10 * MIB)
    plan = plan_of(request(seen, outgoing=(1,), targets=(2,), limits=limits))
    assert [[plan.moves[i].bytes // MIB for i in b.moves] for b in plan.batches] == [[50], [1, 1]]


def test_small_logs_fill_what_large_ones_leave() -> None:
    rows = [partition("t", i, (1,), size=size * MIB) for i, size in enumerate((8, 7, 2, 1))]
    seen = snapshot({1: "", 2: ""}, rows)
    limits = BatchLimits(max_bytes_per_broker=10 * MIB)
    plan = plan_of(request(seen, outgoing=(1,), targets=(2,), limits=limits))
    assert [[plan.moves[i].bytes // MIB for i in b.moves] for b in plan.batches] == [[8, 2], [7, 1]]


def test_large_logs_run_before_small_ones() -> None:
    _, asked = scale_down()
    plan = plan_of(replace(asked, limits=BatchLimits(max_moves=5)))
    longest = [max(plan.moves[i].bytes // len(plan.moves[i].added) for i in b.moves) for b in plan.batches]
    assert [n.bit_length() for n in longest] == sorted((n.bit_length() for n in longest), reverse=True)


def test_targets_take_turns_inside_a_size_class() -> None:
    rows = [partition("t", i, (1,), size=MIB) for i in range(8)]
    seen = snapshot({1: "", 2: "", 3: ""}, rows)
    plan = plan_of(request(seen, outgoing=(1,), targets=(2, 3), limits=BatchLimits(max_moves=4)))
    assert [sorted(plan.moves[i].after[0] for i in b.moves) for b in plan.batches] == [[2, 2, 3, 3]] * 2


def test_every_source_and_target_is_throttled_and_nobody_else() -> None:
    _, asked = roll()
    plan = plan_of(asked)
    assert set(plan.leader_throttle) == {1000, 1001, 1002}
    assert plan.follower_throttle == {1003: 75 * MIB}


def test_the_eta_counts_what_kafka_reaches_of_a_throttle() -> None:
    seen = snapshot({1: "", 2: ""}, [partition("t", 0, (1,), size=8 * MIB)])
    bandwidth = Bandwidth(MIB, "measured")
    asked = request(
        seen,
        outgoing=(1,),
        targets=(2,),
        bandwidth=bandwidth,
        client_fraction=0.0,
        write_bytes_per_s={seen.partitions[0].name: 0},
    )
    plan = plan_of(asked)
    assert plan.batches[0].eta_s == pytest.approx(8 / 0.8 + 2)
    assert plan.certificate.eta_bound_s == pytest.approx(10.0)
    assert plan.certificate.eta_ratio == pytest.approx(1.0)


def test_a_throttle_is_never_below_the_charge_of_followers_in_sync() -> None:
    seen = snapshot({1: "a", 2: "b", 3: "a"}, [partition("t", 0, (1, 2))])
    writes = {seen.partitions[0].name: 200 * MIB}
    plan = plan_of(request(seen, outgoing=(1,), targets=(3,), write_bytes_per_s=writes))
    assert plan.leader_throttle[1] * 0.8 > 2 * 200 * MIB
    assert any("raised above" in line for line in plan.certificate.assumptions)


def test_a_cap_under_which_no_copy_would_end_is_refused() -> None:
    seen = snapshot({1: "a", 2: "b", 3: "a"}, [partition("t", 0, (1, 2))])
    writes = {seen.partitions[0].name: 10 * MIB}
    asked = request(seen, outgoing=(1,), targets=(3,), write_bytes_per_s=writes, throttle_cap_bytes_per_s=5 * MIB)
    answer = solve(asked)
    assert isinstance(answer, Infeasible)
    assert answer.kind == "throttle"
    assert "raise the cap" in answer.message


def test_a_cap_is_kept() -> None:
    _, asked = roll()
    plan = plan_of(replace(asked, throttle_cap_bytes_per_s=3 * MIB))
    assert {*plan.leader_throttle.values(), *plan.follower_throttle.values()} == {3 * MIB}


def test_what_was_assumed_is_said() -> None:
    _, asked = roll()
    said = " | ".join(plan_of(asked).certificate.assumptions)
    for words in ("80% of a configured throttle", "write rate of 12 of 12", "bandwidth assumed", "1 of 12 moved"):
        assert words in said


def test_known_write_rates_are_not_assumed() -> None:
    seen, _ = roll()
    writes = {p.name: 1000 for p in seen.partitions}
    known = request(seen, outgoing=(1000,), targets=(1003,), successors={1000: 1003}, write_bytes_per_s=writes)
    assert not any("write rate" in line for line in plan_of(known).certificate.assumptions)


def test_the_bound_sees_the_one_rack_that_must_take_the_bytes() -> None:
    rows = [partition("t", i, (1, 2), size=10 * MIB) for i in range(10)]
    seen = snapshot({1: "a", 2: "b", 3: "a", 4: "b"}, rows)
    asked = request(seen, outgoing=(1,), targets=(2, 3, 4))
    rates = dict.fromkeys((1, 2, 3, 4), float(MIB))
    bound = bounds_of(asked, range(10), out_bytes_per_s=rates, in_bytes_per_s={b: rates[b] for b in (2, 3, 4)})
    assert (bound.bytes, bound.makespan_s) == (100 * MIB, 100.0)


def test_the_bound_sees_a_sole_source_and_a_long_log() -> None:
    seen = snapshot({1: "", 2: "", 3: ""}, [partition("t", i, (1,), size=10 * MIB) for i in range(4)])
    asked = request(seen, outgoing=(1,), targets=(2, 3))
    fast, slow = float(10 * MIB), float(MIB)
    sole = bounds_of(asked, range(4), out_bytes_per_s={1: slow, 2: fast, 3: fast}, in_bytes_per_s={2: fast, 3: fast})
    long = bounds_of(asked, [0], out_bytes_per_s={1: fast, 2: fast, 3: fast}, in_bytes_per_s={2: slow, 3: slow})
    assert sole.makespan_s == pytest.approx(40.0)
    assert long.makespan_s == pytest.approx(10.0)
