"""Promises, quotas and floors of a plan, and the words for what was assumed."""

from dataclasses import replace

import pytest

from planner.drain.infeasible import Infeasible
from planner.drain.plan import DrainPlan
from planner.drain.request import Bandwidth
from planner.drain.solve import solve
from planner.drain.throttle import KAFKA_REACHES
from tests.unit.planner.drain.drain_cases import MIB, partition, request, roll, scale_down, snapshot


def plan_of(asked: object) -> DrainPlan:
    answer = solve(asked)  # type: ignore[arg-type]
    assert isinstance(answer, DrainPlan), answer
    return answer


def test_every_source_and_target_is_throttled_and_nobody_else() -> None:
    _, asked = roll()
    plan = plan_of(asked)
    assert set(plan.leader_throttle) == {1000, 1001, 1002}
    assert set(plan.follower_throttle) == {1003}


def test_the_quota_stands_above_the_promise_by_what_kafka_does_not_reach() -> None:
    _, asked = roll()
    port = plan_of(asked).into[1003]
    assert port.promised_bytes_per_s == 75 * MIB
    assert port.quota_bytes_per_s * KAFKA_REACHES == pytest.approx(75 * MIB, rel=1e-6)


def test_the_makespan_is_at_the_promised_rate() -> None:
    seen = snapshot({1: "", 2: ""}, [partition("t", 0, (1,), size=8 * MIB)])
    asked = request(seen, outgoing=(1,), targets=(2,), bandwidth=Bandwidth(MIB, "measured"), client_fraction=0.0)
    makespan = plan_of(asked).certificate.measures.makespan_s
    assert (makespan.value, makespan.bound) == (8, 8)


def test_a_rate_is_never_below_the_charge_of_followers_in_sync() -> None:
    seen = snapshot({1: "a", 2: "b", 3: "a"}, [partition("t", 0, (1, 2))])
    writes = {seen.partitions[0].name: 200 * MIB}
    plan = plan_of(request(seen, outgoing=(1,), targets=(3,), write_bytes_per_s=writes))
    assert plan.leader_throttle[1] * KAFKA_REACHES > 2 * 200 * MIB
    assert plan.out[1].floor_bytes_per_s * KAFKA_REACHES > 2 * 200 * MIB
    assert any("raised above" in line for line in plan.certificate.assumptions)


def test_a_cap_under_which_no_copy_would_end_is_refused() -> None:
    seen = snapshot({1: "a", 2: "b", 3: "a"}, [partition("t", 0, (1, 2))])
    writes = {seen.partitions[0].name: 10 * MIB}
    asked = request(seen, outgoing=(1,), targets=(3,), write_bytes_per_s=writes, throttle_cap_bytes_per_s=5 * MIB)
    answer = solve(asked)
    assert isinstance(answer, Infeasible)
    assert answer.kind == "throttle"
    assert "raise the cap" in answer.message


def test_a_cap_limits_the_quota_and_the_promise_is_what_kafka_reaches_of_it() -> None:
    _, asked = roll()
    plan = plan_of(replace(asked, throttle_cap_bytes_per_s=3 * MIB))
    assert {*plan.leader_throttle.values(), *plan.follower_throttle.values()} == {3 * MIB}
    assert plan.into[1003].promised_bytes_per_s == int(3 * MIB * KAFKA_REACHES)


def test_what_was_assumed_is_said() -> None:
    _, asked = roll()
    said = " | ".join(plan_of(asked).certificate.assumptions)
    for words in ("89% of a configured throttle", "write rate of 12 of 12", "bandwidth assumed", "1 of 12 moved"):
        assert words in said


def test_known_write_rates_are_not_assumed() -> None:
    seen, _ = roll()
    writes = {p.name: 1000 for p in seen.partitions}
    known = request(seen, outgoing=(1000,), targets=(1003,), successors={1000: 1003}, write_bytes_per_s=writes)
    assert not any("write rate" in line for line in plan_of(known).certificate.assumptions)


def test_a_plan_tells_every_measure_beside_its_bound() -> None:
    told = plan_of(scale_down()[1]).certificate.document()
    for name in ("bytes", "makespan_s", "disk", "leaders", "leader_changes", "release_s"):
        assert told[name]["value"] >= told[name]["bound"] * (1 - 1e-6)
    assert told["bytes"]["ratio"] == told["leaders"]["ratio"] == 1.0


def test_slots_and_checkpoints_come_from_the_planner() -> None:
    plan = plan_of(scale_down()[1])
    assert plan.checkpoints[-1] == len(plan.moves)
    assert all(port.slots and port.slots >= 1 for port in plan.into.values())
    assert {m.source for m in plan.moves if m.added} <= set(plan.out)
