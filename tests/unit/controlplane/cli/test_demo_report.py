"""What the demo reports, from a recorded list of events whose figures can be checked by hand."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from controlplane.api.schemas.clusters import EventOut
from controlplane.cli.demo.certificates import certificate_line
from controlplane.cli.demo.report import Replaced, planned, replaced, roll

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
CERTIFICATE = {
    "bytes": {"value": 600, "bound": 600, "ratio": 1.0},
    "makespan_s": {"value": 10.4, "bound": 10, "ratio": 1.04},
    "disk": {"value": 0.31, "bound": 0.31, "ratio": 1.0},
    "leaders": {"value": 8, "bound": 8, "ratio": 1.0},
}
OLD, NEW = "brokers-a-0.g1", "brokers-a-0.g2"


def _instance(generation: int, service_id: int) -> dict[str, Any]:
    return {"node": "brokers-a-0", "generation": generation, "service": "broker", "service_id": service_id}


TOLD: tuple[tuple[float, str, dict[str, Any]], ...] = (
    (0, "surge.requested", {"instances": [_instance(1, 1000)]}),
    (8, "instance.joined", {"key": OLD}),
    (100, "recycle.started", {"generation": 2}),
    # 2 s idle, then a boot of 10 s
    (102, "surge.requested", {"instances": [_instance(2, 1003)]}),
    (105, "surge.completed", {"instances": [{"key": NEW}]}),
    (112, "instance.joined", {"key": NEW}),
    # 3 s idle: requested, planned, the batch begins; a copy of 15 s
    (112, "drain.requested", {"drain": "d", "keys": [OLD]}),
    (114, "drain.planned", {"engine": "spark", "moves": 12, "bytes": 600, "certificate": CERTIFICATE}),
    (115, "drain.batch_started", {"drain": "d"}),
    (130, "instance.drained", {"drain": "d", "keys": [OLD], "bytes": 600, "moves": 12}),
    # a linger of 5 s, a stop of 2 s
    (135, "instance.fence_requested", {"keys": [OLD]}),
    (137, "instance.fenced", {"key": OLD, "proof": "agent"}),
    # 3 s idle: unregistered and retired
    (140, "replacement.completed", {"node": "brokers-a-0", "old": OLD, "new": NEW}),
    # a soak of 6 s, then 4 s idle
    (146, "finalisation.requested", {"feature": "metadata.version", "level": 29}),
    (150, "recycle.completed", {"generation": 2}),
)
IDLE_S, WALL_S = 2 + 3 + 3 + 4, 50.0


def _events(*told: tuple[float, str, dict[str, Any]]) -> list[EventOut]:
    return [
        EventOut.model_validate(
            {
                "position": n,
                "version": n,
                "type": kind,
                "at": BEGAN + timedelta(seconds=seconds),
                "actor": "converger",
                "data": data,
            }
        )
        for n, (seconds, kind, data) in enumerate(told, start=1)
    ]


EVENTS = _events(*TOLD)


def test_a_replaced_vm_with_its_seconds_per_phase() -> None:
    assert replaced(EVENTS) == [
        Replaced("brokers-a-0", "broker", 1000, 1003, 600, surge_s=10.0, drain_s=18.0, retire_s=5.0)
    ]


def test_the_overhead_is_what_nothing_physical_and_no_wait_accounts_for() -> None:
    told = roll(EVENTS, 2)
    assert (told.wall_s, told.busy_s) == (WALL_S, WALL_S - IDLE_S)
    assert told.overhead_ratio == pytest.approx(IDLE_S / WALL_S)


def test_in_zookeeper_mode_the_soak_ends_with_the_protocol_and_the_last_restarts_are_work() -> None:
    told = _events(
        (0, "recycle.started", {"generation": 2}),
        # a soak of 5 s, then 1 s idle
        (0, "replacement.completed", {"node": "brokers-a-0", "old": OLD, "new": NEW}),
        (5, "protocol.raised", {"old": "3.8", "new": "3.9", "reason": "all brokers run Kafka 3.9.1"}),
        # a restart of 4 s, then 2 s idle
        (6, "restart.requested", {"key": NEW}),
        (10, "restart.completed", {"key": NEW}),
        (12, "recycle.completed", {"generation": 2}),
    )
    assert (roll(told, 2).wall_s, roll(told, 2).busy_s) == (12.0, 9.0)


def test_things_that_happen_at_once_count_once() -> None:
    both = _events(
        (0, "recycle.started", {"generation": 1}),
        (0, "surge.requested", {"instances": [_instance(1, 1000), _instance(2, 1001)]}),
        (6, "instance.joined", {"key": OLD}),
        (8, "instance.joined", {"key": NEW}),
        (10, "recycle.completed", {"generation": 1}),
    )
    assert (roll(both, 1).busy_s, roll(both, 1).overhead_ratio) == (8.0, pytest.approx(0.2))


def test_a_roll_that_takes_no_time_has_no_overhead() -> None:
    at_once = _events((0, "recycle.started", {"generation": 1}), (0, "recycle.completed", {"generation": 1}))
    assert roll(at_once, 1).overhead_ratio == 0.0


def test_the_boot_of_another_roll_does_not_count() -> None:
    assert roll(EVENTS, 2).busy_s == roll(EVENTS[2:], 2).busy_s


@pytest.mark.parametrize(
    ("events", "generation"), [(EVENTS, 3), (EVENTS[:-1], 2), ([], 1)], ids=["another", "not ended", "no history"]
)
def test_a_roll_that_is_not_whole_in_the_history_is_refused(events: list[EventOut], generation: int) -> None:
    with pytest.raises(ValueError, match=f"generation {generation} has no whole roll"):
        roll(events, generation)


def test_plans_are_told_with_their_engine_and_certificate() -> None:
    (plan,) = planned(EVENTS)
    assert (plan.engine, plan.moves, plan.bytes, plan.certificate["bytes"]["ratio"]) == ("spark", 12, 600, 1.0)
    assert certificate_line(plan) == (
        "drain plan by spark, 12 moves, value / bound: bytes 600 B / 600 B (1.000); makespan 10.4 s / 10.0 s (1.040); "
        "fullest disk 31.0% / 31.0% (1.000); most leaders 8 / 8 (1.000); release not measured"
    )


def test_bytes_of_several_rounds_add_up() -> None:
    again = {"drain": "d", "keys": [OLD], "bytes": 40, "moves": 1}
    told = [*TOLD[:10], (131, "instance.drained", again), *TOLD[10:]]
    assert replaced(_events(*told))[0].bytes == 640
