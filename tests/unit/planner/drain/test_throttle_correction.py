"""The throttle that is due while a drain copies: traffic that rises, falls, is unknown or flutters."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from planner.drain.correction import BAND, Due, PortTraffic, due, left_by_volumes
from planner.drain.plan import Port
from planner.drain.throttle import KAFKA_REACHES, LEAST_CATCH_UP_BYTES_PER_S, SPARE_FRACTION, floor

MIB = 2**20
NIC = 100 * MIB
PROMISE = 75 * MIB
PORT = Port(4, PROMISE, round(PROMISE / KAFKA_REACHES), floor(0))


def now(
    charge: float = 0.0, *, own: float | None = None, in_force: float | None = None, unknown: int = 0
) -> PortTraffic:
    return PortTraffic(
        set_bytes_per_s=round(PORT.quota_bytes_per_s if in_force is None else in_force),
        charge_bytes_per_s=charge,
        own_bytes_per_s=charge if own is None else own,
        unknown=unknown,
        bandwidth_bytes_per_s=NIC,
    )


def stays(rate: int) -> Due:
    return Due(rate, rate)


def copies_get(found: Due, charge: float) -> float:
    """Bytes/s left to copies under a throttle beside the charge."""
    return found.quota_bytes_per_s * KAFKA_REACHES - charge


def rewrites(loads: Iterable[tuple[float, float]]) -> list[int]:
    """The throttles written one after the other, each load as (charge, own traffic), on what was set before."""
    in_force, written = PORT.quota_bytes_per_s, []
    for charge, own in loads:
        found = due(PORT, now(charge, own=own, in_force=in_force))
        if found.why:
            written.append(found.quota_bytes_per_s)
        in_force = found.quota_bytes_per_s
    return written


def test_without_traffic_the_plans_throttle_stands() -> None:
    assert due(PORT, now()) == stays(PORT.quota_bytes_per_s)


def test_a_charge_is_added_so_that_copies_get_what_the_plan_promises() -> None:
    found = due(PORT, now(12 * MIB))
    assert copies_get(found, 12 * MIB) == pytest.approx(PROMISE, rel=1e-6)
    assert found.why == "12.0 MiB/s of traffic in sync share it"


def test_traffic_that_rises_leaves_copies_less_and_says_how_much() -> None:
    found = due(PORT, now(own=40 * MIB))
    assert copies_get(found, 0) == pytest.approx(50 * MIB, rel=1e-6)
    assert found.why == "its own traffic of 40.0 MiB/s leaves copies 50.0 MiB/s"


def test_traffic_that_falls_gives_copies_the_promise_back_and_no_more() -> None:
    slowed = due(PORT, now(own=60 * MIB))
    found = due(PORT, now(own=1 * MIB, in_force=slowed.quota_bytes_per_s))
    assert copies_get(found, 0) == pytest.approx(PROMISE, rel=1e-6)
    assert found.why == "its own traffic leaves copies all the plan promises"


def test_a_broker_its_own_traffic_fills_still_lets_copies_end() -> None:
    found = due(PORT, now(30 * MIB, own=200 * MIB))
    assert copies_get(found, 30 * MIB) >= LEAST_CATCH_UP_BYTES_PER_S
    assert found.quota_bytes_per_s >= floor(30 * MIB)


def test_a_charge_above_the_throttle_raises_it_above_the_livelock_floor() -> None:
    small = Port(4, 20 * MIB, round(20 * MIB / KAFKA_REACHES), floor(0))
    seen = PortTraffic(set_bytes_per_s=small.quota_bytes_per_s, charge_bytes_per_s=300 * MIB, own_bytes_per_s=0)
    assert due(small, seen).quota_bytes_per_s > floor(300 * MIB)


def test_a_throttle_below_the_floor_is_raised_however_little_is_missing() -> None:
    charge = 50 * MIB
    found = due(PORT, now(charge, own=NIC, in_force=floor(charge) - 1))
    assert found.quota_bytes_per_s >= floor(charge)
    assert found.why


def test_where_the_bandwidth_is_not_known_the_promise_alone_bounds_copies() -> None:
    seen = PortTraffic(set_bytes_per_s=PORT.quota_bytes_per_s, charge_bytes_per_s=0, own_bytes_per_s=10**12)
    assert due(PORT, seen) == stays(PORT.quota_bytes_per_s)


def test_a_first_throttle_reaches_the_promise_beside_the_charge_and_corrects_nothing() -> None:
    generous = Port(4, PROMISE, 2 * PORT.quota_bytes_per_s, 0)
    first = PortTraffic(charge_bytes_per_s=9 * MIB, own_bytes_per_s=9 * MIB, bandwidth_bytes_per_s=NIC)
    found = due(generous, first)
    assert copies_get(found, 9 * MIB) == pytest.approx(PROMISE, rel=1e-6)
    assert found.why == ""


def test_a_first_throttle_that_traffic_leaves_no_room_for_says_so() -> None:
    found = due(PORT, PortTraffic(charge_bytes_per_s=0, own_bytes_per_s=40 * MIB, bandwidth_bytes_per_s=NIC))
    assert "leaves copies 50.0 MiB/s" in found.why


def test_a_first_throttle_on_unknown_traffic_is_the_plans() -> None:
    first = PortTraffic(charge_bytes_per_s=0, own_bytes_per_s=0, unknown=1)
    assert due(PORT, first) == stays(PORT.quota_bytes_per_s)


# --- unknown ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("in_force", [20 * MIB, 80 * MIB, 110 * MIB])
def test_unknown_traffic_leaves_what_is_set(in_force: int) -> None:
    assert due(PORT, now(in_force=in_force, unknown=3)) == stays(in_force)


def test_what_is_known_of_a_charge_is_a_floor_already() -> None:
    found = due(PORT, now(50 * MIB, in_force=40 * MIB, unknown=2))
    assert found.quota_bytes_per_s >= floor(50 * MIB)
    assert "write rates of 2 partitions are unknown" in found.why


def test_while_the_charge_is_unknown_the_plans_own_floor_counts() -> None:
    port = Port(4, PROMISE, PORT.quota_bytes_per_s, 30 * MIB)
    seen = now(in_force=MIB, unknown=1)
    assert due(port, seen).quota_bytes_per_s >= 30 * MIB
    assert due(port, now(in_force=PORT.quota_bytes_per_s)).why == ""


# --- the operator's cap ----------------------------------------------------------------------------------------------


def test_no_charge_lifts_a_throttle_above_the_cap() -> None:
    assert due(PORT, now(30 * MIB), cap_bytes_per_s=95 * MIB).quota_bytes_per_s == 95 * MIB


def test_a_cap_lowered_meanwhile_holds_at_once() -> None:
    cap = round(PORT.quota_bytes_per_s * 0.99)
    assert due(PORT, now(), cap_bytes_per_s=cap).quota_bytes_per_s == cap


def test_a_cap_below_the_floor_is_kept_and_it_is_said_what_to_do() -> None:
    found = due(PORT, now(50 * MIB), cap_bytes_per_s=10 * MIB)
    assert found.quota_bytes_per_s == 10 * MIB
    assert "raise rollout.throttleMibPerS" in found.why
    assert due(PORT, now(50 * MIB, in_force=10 * MIB), cap_bytes_per_s=10 * MIB) == stays(10 * MIB)


# --- hysteresis ------------------------------------------------------------------------------------------------------


def test_traffic_that_flutters_rewrites_nothing() -> None:
    steady = rewrites([(20 * MIB, 20 * MIB)])
    assert len(steady) == 1
    flutter = [(20 * MIB * (1.2 if n % 2 else 0.8), 20 * MIB) for n in range(50)]
    assert len(rewrites([(20 * MIB, 20 * MIB), *flutter])) == 1


def test_traffic_that_flutters_at_the_floor_is_written_once() -> None:
    charge = 60 * MIB
    flutter = [(charge * (1.04 if n % 2 else 0.98), 3 * NIC) for n in range(50)]
    written = rewrites([(charge, 3 * NIC), *flutter])
    assert len(written) <= 1
    assert all(quota >= floor(charge * 1.04) for quota in written)


def test_traffic_that_rises_slowly_is_followed_in_steps_of_a_tenth() -> None:
    written = rewrites([(0, own * MIB) for own in range(70)])
    assert 3 <= len(written) <= 15
    assert all(b <= a * (1 - BAND) + 1 for a, b in pairwise(written))


def test_a_correction_is_its_own_fixed_point() -> None:
    for charge in (0, MIB, 20 * MIB, 70 * MIB, 200 * MIB):
        for own in (charge, charge + 30 * MIB, charge + NIC):
            first = due(PORT, now(charge, own=own))
            assert due(PORT, now(charge, own=own, in_force=first.quota_bytes_per_s)) == stays(first.quota_bytes_per_s)


AMOUNT = st.floats(0, 4 * NIC, allow_nan=False)


@given(charge=AMOUNT, more=AMOUNT, in_force=st.integers(1, 4 * NIC), unknown=st.sampled_from([0, 0, 2]))
def test_never_below_the_floor_and_with_known_traffic_never_over_head_room(
    charge: float, more: float, in_force: int, unknown: int
) -> None:
    """Head-room is kept to within the band, which the spare share of the bandwidth is for."""
    own = charge + more
    found = due(PORT, now(charge, own=own, in_force=in_force, unknown=unknown))
    least = floor(charge) if charge > 0 else 1
    assert found.quota_bytes_per_s >= least
    if unknown:
        return
    room = min(PROMISE, max(NIC * (1 - SPARE_FRACTION) - own, LEAST_CATCH_UP_BYTES_PER_S))
    most = max((room + charge) / KAFKA_REACHES, least * (1 + BAND)) + 1
    assert found.quota_bytes_per_s <= most / (1 - BAND)


def test_volumes_that_leave_less_than_the_network_bind_copies() -> None:
    found = due(PORT, replace(now(own=5 * MIB), volumes_bytes_per_s=30.0 * MIB))
    assert copies_get(found, 0) == pytest.approx(30 * MIB, rel=1e-6)
    assert found.why == "its volumes leave copies 30.0 MiB/s beside what else is written to them"


def test_volumes_that_leave_more_than_the_network_change_nothing() -> None:
    assert due(PORT, replace(now(), volumes_bytes_per_s=90.0 * MIB)) == stays(PORT.quota_bytes_per_s)
    narrow = now(own=40 * MIB)
    assert due(PORT, replace(narrow, volumes_bytes_per_s=60.0 * MIB)) == due(PORT, narrow)


def test_copies_end_however_little_volumes_leave() -> None:
    found = due(PORT, replace(now(), volumes_bytes_per_s=0.0))
    assert copies_get(found, 0) == pytest.approx(LEAST_CATCH_UP_BYTES_PER_S, rel=1e-3)


def test_volumes_with_room_leave_every_promise_and_others_as_much_less_of_each() -> None:
    assert left_by_volumes(100.0, 10.0, 50.0, 30.0) == (50.0, 30.0)
    assert left_by_volumes(100.0, 50.0, 60.0, 20.0) == (30.0, 10.0)
    assert left_by_volumes(100.0, 95.0, 60.0, 20.0) == (0.0, 0.0)
    assert left_by_volumes(100.0, 0.0, 0.0, 0.0) == (0.0, 0.0)
