"""A drain whose volumes are slower than its network: what it promises, what binds it, and what its certificate says."""

from dataclasses import replace

import numpy as np
import pytest

from planner.drain.bounds.limits import NETWORK_IN, VOLUMES_WRITE
from planner.drain.certificate import certificate_from
from planner.drain.check import check
from planner.drain.codec import request_document, request_from
from planner.drain.columns import partitions_table
from planner.drain.plan import DrainPlan
from planner.drain.request import Bandwidth, DrainRequest, VolumeLimits
from planner.drain.solve import solve
from planner.drain.throttle import KAFKA_REACHES, ONTO_SLOW_VOLUMES_KAFKA_REACHES, usable_volumes
from tests.unit.planner.drain.drain_cases import MIB, partition, request, roll, scale_down, snapshot

GP3 = 125 * MIB
TOLD = ("volumes of broker 1003 write and read 125.0 MiB/s together: 1 x gp3, as aws publishes",)


def wide(asked: DrainRequest) -> DrainRequest:
    """The network of an i3en.metal: 12.5 GB/s each way."""
    return replace(asked, bandwidth=Bandwidth(12_500_000_000, "catalogue"))


def on_gp3(asked: DrainRequest) -> DrainRequest:
    limits = dict.fromkeys(asked.cluster.brokers.id.tolist(), float(GP3))
    return replace(asked, volumes=VolumeLimits(limits, TOLD))


def planned(asked: DrainRequest) -> DrainPlan:
    answer = solve(asked)
    assert isinstance(answer, DrainPlan), answer
    return answer


def test_a_promise_is_no_more_than_the_volumes_of_the_target_write() -> None:
    """It was far more on such a machine: 71 times what a plain gp3 does."""
    rows = [partition("orders", i, (1000, 1001, 1002), size=64 * MIB) for i in range(100)]
    seen = snapshot({1000: "a", 1001: "b", 1002: "c", 1003: "a"}, rows)
    asked = request(seen, outgoing=(1000,), targets=(1003,), successors={1000: 1003})
    plan = planned(on_gp3(wide(asked)))
    assert plan.into[1003].promised_bytes_per_s == int(0.75 * GP3)
    assert plan.certificate.binds == VOLUMES_WRITE
    assert plan.certificate.measures.makespan_s.ratio <= 1.05
    assert planned(wide(asked)).into[1003].promised_bytes_per_s > 50 * GP3
    assert check(plan, seen, on_gp3(wide(asked))) == ()


def test_a_throttle_onto_a_volume_that_binds_makes_up_for_its_pauses_and_leaves_a_tenth_free() -> None:
    """On real brokers copies onto a volume of 16 MiB/s stood still for seconds, and reached 0.94 of the promise."""
    rows = [partition("orders", i, (1000, 1001, 1002), size=64 * MIB) for i in range(100)]
    seen = snapshot({1000: "a", 1001: "b", 1002: "c", 1003: "a"}, rows)
    plan = planned(on_gp3(wide(request(seen, outgoing=(1000,), targets=(1003,), successors={1000: 1003}))))
    into, out = plan.into[1003], plan.out[1000]
    assert into.quota_bytes_per_s == pytest.approx(
        into.promised_bytes_per_s / ONTO_SLOW_VOLUMES_KAFKA_REACHES, rel=1e-6
    )
    assert into.quota_bytes_per_s < 0.9 * GP3
    assert out.quota_bytes_per_s == pytest.approx(out.promised_bytes_per_s / KAFKA_REACHES, rel=1e-6)


def test_volumes_that_keep_up_change_no_promise() -> None:
    _, asked = roll()
    plan, plain = planned(on_gp3(asked)), planned(asked)
    assert (plan.into, plan.moves) == (plain.into, plain.moves)
    assert plan.certificate.binds == plain.certificate.binds == NETWORK_IN


def test_brokers_that_take_and_give_promise_no_more_than_their_volumes_do_together() -> None:
    seen, asked = scale_down()
    plan = planned(on_gp3(wide(asked)))
    for broker, port in plan.into.items():
        out = plan.out[broker].promised_bytes_per_s if broker in plan.out else 0
        assert port.promised_bytes_per_s + out <= 0.75 * GP3 + 2
    assert check(plan, seen, on_gp3(wide(asked))) == ()


def test_the_certificate_says_who_told_of_the_volumes() -> None:
    _, asked = roll()
    assert TOLD[0] in planned(on_gp3(asked)).certificate.assumptions


def test_of_whose_volumes_nobody_knows_the_certificate_says_so_and_guesses_nothing() -> None:
    _, asked = roll()
    lines = planned(asked).certificate.assumptions
    told = "what the volumes of brokers 1000, 1001, 1002, 1003 do is not known: taken to keep up with the network"
    assert told in lines
    some = replace(asked, volumes=VolumeLimits({1000: 1e9, 1001: 1e9, 1002: 1e9}))
    assert [line for line in planned(some).certificate.assumptions if "volumes" in line] == [
        "what the volumes of broker 1003 do is not known: taken to keep up with the network"
    ]


def test_what_is_written_to_a_broker_is_not_there_for_copies() -> None:
    seen = snapshot({1: "", 2: "", 3: ""}, [partition("t", 0, (1,)), partition("u", 0, (2, 3))])
    written = {seen.partitions[1].name: 60 * MIB}
    asked = request(seen, outgoing=(1,), targets=(2,), write_bytes_per_s=written)
    left = usable_volumes(replace(asked, volumes=VolumeLimits({1: 100.0 * MIB, 2: 100.0 * MIB})))
    assert left[:2].tolist() == [75.0 * MIB, 30.0 * MIB]
    assert np.isnan(left[2])


def test_a_cap_that_alone_makes_it_slow_is_what_binds() -> None:
    _, asked = roll()
    assert planned(replace(asked, throttle_cap_bytes_per_s=3 * MIB)).certificate.binds == "rollout.throttleMibPerS"
    assert planned(replace(asked, throttle_cap_bytes_per_s=500 * MIB)).certificate.binds == NETWORK_IN


def test_what_is_no_rate_is_refused() -> None:
    _, asked = roll()
    with pytest.raises(ValueError, match="what volumes do must be above 0"):
        replace(asked, volumes=VolumeLimits({1000: 0.0}))


def test_volumes_cross_to_a_worker_and_back() -> None:
    _, asked = roll()
    sent = on_gp3(asked)
    assert request_from(request_document(sent), partitions_table(sent.cluster)).volumes == sent.volumes


def test_a_certificate_of_before_says_nothing_of_what_binds() -> None:
    _, asked = roll()
    document = planned(asked).certificate.document()
    assert certificate_from(document).binds == NETWORK_IN
    assert certificate_from({k: v for k, v in document.items() if k != "binds"}).binds == ""
