"""Promises, quotas and floors of a plan, and the words for what was assumed."""

from dataclasses import replace

import pytest

from planner.drain.infeasible import Infeasible
from planner.drain.plan import DrainPlan
from planner.drain.request import Bandwidth
from planner.drain.solve import solve
from planner.drain.throttle import KAFKA_REACHES, LEAST_CATCH_UP_BYTES_PER_S
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


def test_a_cap_raised_to_what_the_refusal_names_is_enough() -> None:
    """What a broker takes in was named alone; what it gives away needs twice as much, and was refused next."""
    seen = snapshot({1: "a", 2: "b", 3: "a"}, [partition("t", 0, (1, 2))])
    asked = request(
        seen,
        outgoing=(1,),
        targets=(3,),
        write_bytes_per_s={seen.partitions[0].name: 10 * MIB},
        throttle_cap_bytes_per_s=5 * MIB,
    )
    answer = solve(asked)
    assert isinstance(answer, Infeasible)
    assert "below the 22.4 MiB/s that broker 1 needs" in answer.message
    assert plan_of(replace(asked, throttle_cap_bytes_per_s=int(22.5 * MIB))).moves


def test_a_cap_limits_the_quota_and_the_promise_is_what_kafka_reaches_of_it() -> None:
    _, asked = roll()
    plan = plan_of(replace(asked, throttle_cap_bytes_per_s=3 * MIB))
    assert {*plan.leader_throttle.values(), *plan.follower_throttle.values()} == {3 * MIB}
    assert plan.into[1003].promised_bytes_per_s == int(3 * MIB * KAFKA_REACHES)


def test_what_was_assumed_is_said() -> None:
    _, asked = roll()
    said = " | ".join(plan_of(asked).certificate.assumptions)
    for words in ("90% of a configured throttle", "write rate of 12 of 12", "bandwidth assumed", "1 of 12 moved"):
        assert words in said


def test_known_write_rates_are_not_assumed() -> None:
    seen, _ = roll()
    writes = {p.name: 1000 for p in seen.partitions}
    known = request(seen, outgoing=(1000,), targets=(1003,), successors={1000: 1003}, write_bytes_per_s=writes)
    assert not any("write rate" in line for line in plan_of(known).certificate.assumptions)


def test_what_is_known_of_write_rates_is_said_with_where_it_is_from() -> None:
    seen, _ = roll()
    writes = {p.name: 1000 for p in seen.partitions[:9]}
    told = "growth of the leaders' logs over 30 s, 4 s old"
    asked = {"outgoing": (1000,), "targets": (1003,), "successors": {1000: 1003}, "write_bytes_per_s": writes}
    lines = plan_of(request(seen, **asked, write_rates_from=told)).certificate.assumptions
    assert f"write rate of 9 of 12 moved partitions known: {told}" in lines
    assert "write rate of 3 of 12 moved partitions unknown: in-sync traffic counts nothing" in lines


def test_a_cold_start_says_that_it_plans_from_log_sizes_alone() -> None:
    lines = plan_of(roll()[1]).certificate.assumptions
    (line,) = [line for line in lines if "write rate" in line]
    assert line.endswith("unknown: in-sync traffic counts nothing, planned from log sizes alone")


def test_the_quota_carries_the_charge_beside_the_promise() -> None:
    seen, _ = roll()
    writes = {p.name: MIB for p in seen.partitions}
    asked = {"outgoing": (1000,), "targets": (1003,), "successors": {1000: 1003}}
    port = plan_of(request(seen, **asked, write_bytes_per_s=writes)).out[1000]
    still = plan_of(request(seen, **asked)).out[1000]
    assert port.promised_bytes_per_s == still.promised_bytes_per_s
    # two flows fill the share, so four partitions at once, each read by two followers and a new replica that arrived
    assert (port.quota_bytes_per_s - still.quota_bytes_per_s) * KAFKA_REACHES == pytest.approx(12 * MIB, rel=1e-4)


def test_under_a_cap_the_promise_is_what_the_charge_leaves_of_it() -> None:
    seen, _ = roll()
    writes = {p.name: MIB for p in seen.partitions}
    asked = {"outgoing": (1000,), "targets": (1003,), "successors": {1000: 1003}}
    plan = plan_of(request(seen, **asked, write_bytes_per_s=writes, throttle_cap_bytes_per_s=60 * MIB))
    assert plan.out[1000].quota_bytes_per_s == 60 * MIB
    # one flow fills what the cap lets through, so two partitions at once are reckoned with
    assert plan.out[1000].promised_bytes_per_s == pytest.approx(60 * MIB * KAFKA_REACHES - 6 * MIB, rel=1e-4)


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


def test_what_a_busy_network_does_already_is_not_promised_to_copies() -> None:
    """Of 100 MiB/s a drain may have 75; 50 are written to the target, so 40 are left of nine tenths."""
    rows = [*(partition("t", n, (1,), size=64 * MIB) for n in range(4)), partition("u", 0, (2, 3))]
    seen = snapshot({1: "", 2: "", 3: ""}, rows)
    writes = {rows[-1].name: 50 * MIB}
    busy = plan_of(request(seen, outgoing=(1,), targets=(2,), write_bytes_per_s=writes))
    assert busy.into[2].promised_bytes_per_s == 40 * MIB
    idle = plan_of(request(seen, outgoing=(1,), targets=(2,)))
    assert idle.into[2].promised_bytes_per_s == 75 * MIB


def test_what_consumers_fetch_of_a_source_is_not_promised_to_copies() -> None:
    seen = snapshot({1: "", 2: ""}, [partition("t", n, (1,), size=64 * MIB) for n in range(4)])
    plan = plan_of(request(seen, outgoing=(1,), targets=(2,), read_bytes_per_s={1: 60 * MIB}))
    assert (plan.out[1].promised_bytes_per_s, plan.into[2].promised_bytes_per_s) == (30 * MIB, 75 * MIB)


def test_a_network_full_of_traffic_leaves_copies_as_much_as_lets_them_end() -> None:
    seen = snapshot({1: "", 2: ""}, [partition("t", 0, (1,), size=MIB)])
    plan = plan_of(request(seen, outgoing=(1,), targets=(2,), read_bytes_per_s={1: 200 * MIB}))
    assert plan.out[1].promised_bytes_per_s == LEAST_CATCH_UP_BYTES_PER_S
