"""A drain of a cluster whose brokers speak TLS: what it promises, what binds it, and what its certificate says."""

import json
from dataclasses import replace

import pytest

from planner.drain.bounds.limits import NETWORK_IN
from planner.drain.check import check
from planner.drain.codec import request_document, request_from
from planner.drain.columns import partitions_table
from planner.drain.plan import DrainPlan
from planner.drain.request import Bandwidth, DrainRequest, TlsLimits
from planner.drain.solve import solve
from planner.drain.throttle import rooms
from tests.unit.planner.drain.drain_cases import MIB, partition, request, roll, scale_down, snapshot

TOLD = ("TLS between brokers: broker 1003 takes 114.4 MiB/s at most",)


def wide(asked: DrainRequest) -> DrainRequest:
    return replace(asked, bandwidth=Bandwidth(1_250_000_000, "catalogue"))


def by_tls(asked: DrainRequest, into: float = 120e6, out: float = 285e6) -> DrainRequest:
    ids = asked.cluster.brokers.id.tolist()
    return replace(asked, tls=TlsLimits(dict.fromkeys(ids, into), dict.fromkeys(ids, out), TOLD))


def planned(asked: DrainRequest) -> DrainPlan:
    answer = solve(asked)
    assert isinstance(answer, DrainPlan), answer
    return answer


def test_a_promise_is_no_more_than_three_quarters_of_what_the_target_decrypts() -> None:
    rows = [partition("orders", i, (1000, 1001, 1002), size=64 * MIB) for i in range(100)]
    seen = snapshot({1000: "a", 1001: "b", 1002: "c", 1003: "a"}, rows)
    asked = wide(request(seen, outgoing=(1000,), targets=(1003,), successors={1000: 1003}))
    plan = planned(by_tls(asked))
    assert plan.into[1003].promised_bytes_per_s == 90_000_000
    assert plan.certificate.binds == "TLS (processors and fetchers) of those who take"
    assert plan.certificate.measures.makespan_s.value == pytest.approx(100 * 64 * MIB / 90e6, rel=0.05)
    assert TOLD[0] in plan.certificate.assumptions
    assert check(plan, seen, by_tls(asked)) == ()


def test_what_a_source_encrypts_binds_where_that_is_less() -> None:
    seen, asked = scale_down()
    plan = planned(by_tls(wide(asked), into=1e9, out=10e6))
    assert all(port.promised_bytes_per_s <= 7_500_000 for port in plan.out.values())
    assert plan.certificate.binds == "TLS (processors and fetchers) of those who give"
    assert check(plan, seen, by_tls(wide(asked), into=1e9, out=10e6)) == ()


def test_in_plaintext_nothing_is_said_of_it_and_wide_limits_change_no_promise() -> None:
    _, asked = roll()
    plain, loose = planned(asked), planned(by_tls(asked, into=1e12, out=1e12))
    assert (plain.into, plain.out, plain.moves) == (loose.into, loose.out, loose.moves)
    assert plain.certificate.binds == loose.certificate.binds == NETWORK_IN
    assert not [line for line in plain.certificate.assumptions if "TLS" in line]


def test_a_cap_below_it_is_what_binds() -> None:
    _, asked = roll()
    capped = replace(by_tls(wide(asked), into=80e6), throttle_cap_bytes_per_s=3 * MIB)
    assert planned(capped).certificate.binds == "rollout.throttleMibPerS"
    assert "TLS" in planned(replace(capped, throttle_cap_bytes_per_s=500 * MIB)).certificate.binds


def test_what_brokers_take_of_one_another_already_is_not_there_for_copies() -> None:
    seen = snapshot({1: "", 2: "", 3: ""}, [partition("t", 0, (1,)), partition("u", 0, (2, 3))])
    written = {seen.partitions[1].name: 60 * MIB}
    asked = wide(request(seen, outgoing=(1,), targets=(2,), write_bytes_per_s=written))
    into, _ = rooms(by_tls(asked, into=100.0 * MIB))
    assert into.tolist() == [75.0 * MIB, 30.0 * MIB, 30.0 * MIB]


def test_a_broker_whose_limit_nobody_knows_has_none() -> None:
    _, asked = roll()
    known = dict.fromkeys(asked.cluster.brokers.id.tolist()[1:], 1e6)
    some = replace(asked, tls=TlsLimits(known))
    assert rooms(some)[0][0] == rooms(asked)[0][0]


def test_a_limit_of_nothing_is_refused() -> None:
    _, asked = roll()
    with pytest.raises(ValueError, match="leave out what is not known"):
        replace(asked, tls=TlsLimits({1000: 0.0}))


def test_it_crosses_to_the_planning_worker() -> None:
    asked = by_tls(roll()[1])
    document = json.loads(json.dumps(request_document(asked)))
    assert request_from(document, partitions_table(asked.cluster)).tls == asked.tls
