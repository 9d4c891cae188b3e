"""Ticks on threads: again at once while something moves, and nobody who rings meanwhile is forgotten."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from controlplane.converger.tick.loop import MAX_IN_A_ROW, Converger
from events.ids import ClusterUid
from planner.observed import KafkaSnapshot, ThrottlesSeen
from tests.builders import a_snapshot
from tests.unit.controlplane.converger.tick.test_converger_fleet import GOOD, WAIT_S, Fleet


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """What the brokers wait for before they answer; always opened in the end, so that no thread stays."""
    event = threading.Event()
    yield event
    event.set()


class Brokers:
    """A throttle is on them until it was cleared `deaf` times more than once."""

    def __init__(self, fleet: Fleet, *, deaf: int = 0) -> None:
        self._fleet = fleet
        self._deaf = deaf
        self.asked: list[str] = []

    def snapshot(self) -> KafkaSnapshot:
        self.asked.append("snapshot")
        throttled = self.asked.count("clear") <= self._deaf
        left = ThrottlesSeen(leader_rate={1000: 1}) if throttled else ThrottlesSeen()
        return a_snapshot(at=self._fleet.now, throttles=left)

    def clear_throttles(self) -> None:
        self.asked.append("clear")


def _at_work(fleet: Fleet, brokers: Brokers) -> Converger:
    """The fleet's cluster with a roll to begin, ticked on a thread."""
    fleet.converger.catch_up()
    fleet.declare(GOOD)
    gateway: Any = lambda _view: brokers  # noqa: E731
    ports = replace(fleet.converger._ports, kafka=gateway)
    fleet.converger.close()
    return Converger(ports, workers=1, wake=fleet.woken.append)


def test_what_was_done_is_looked_at_again_at_once_and_the_next_step_taken() -> None:
    fleet = Fleet(GOOD, workers=1)
    brokers = Brokers(fleet)
    converger = _at_work(fleet, brokers)
    converger.tick()
    report = converger.settle(WAIT_S)
    assert brokers.asked == ["snapshot", "clear", "snapshot"]
    assert (report.clusters, report.effects, len(fleet.runs)) == (1, 2, 1), "the second look began the roll"
    said = converger.said(ClusterUid(GOOD))
    assert said is not None
    assert said.took_s is not None
    assert 0 < said.took_s < WAIT_S
    converger.close()


def test_after_a_long_act_has_begun_there_is_nothing_to_look_at() -> None:
    fleet = Fleet(GOOD, workers=1)
    brokers = Brokers(fleet, deaf=-1)
    converger = _at_work(fleet, brokers)
    converger.tick()
    report = converger.settle(WAIT_S)
    assert (brokers.asked, len(fleet.runs), report.jobs) == (["snapshot"], 1, 1)
    converger.close()


def test_what_does_not_help_is_tried_a_few_times_and_then_at_the_usual_pace() -> None:
    fleet = Fleet(GOOD, workers=1)
    brokers = Brokers(fleet, deaf=1000)
    converger = _at_work(fleet, brokers)
    converger.tick()
    converger.settle(WAIT_S)
    assert brokers.asked.count("clear") == MAX_IN_A_ROW
    assert fleet.woken == [GOOD]
    converger.close()


def test_a_tick_that_fails_is_not_repeated_at_once() -> None:
    fleet = Fleet(GOOD, workers=1)
    brokers = Brokers(fleet)
    brokers.clear_throttles = lambda: 1 / 0  # type: ignore[assignment,method-assign,return-value]
    converger = _at_work(fleet, brokers)
    converger.tick()
    report = converger.settle(WAIT_S)
    assert (brokers.asked, report.failures, fleet.woken) == (["snapshot"], 1, [])
    converger.close()


def _hanging(fleet: Fleet, gate: threading.Event) -> None:
    def answer() -> KafkaSnapshot:
        assert gate.wait(WAIT_S)
        return a_snapshot(at=fleet.now)

    fleet.gateways[GOOD] = answer


def test_who_rings_during_its_own_tick_gets_another_one(gate: threading.Event) -> None:
    fleet = Fleet(GOOD, workers=1)
    _hanging(fleet, gate)
    fleet.tick()
    fleet.tick(only={GOOD})
    assert fleet.woken == []
    gate.set()
    fleet.converger.settle(WAIT_S)
    assert (fleet.dialled, fleet.woken) == ([GOOD], [GOOD])
    fleet.converger.close()


def test_an_interval_that_falls_into_a_tick_asks_for_no_other_one(gate: threading.Event) -> None:
    fleet = Fleet(GOOD, workers=1)
    _hanging(fleet, gate)
    fleet.tick()
    fleet.tick()
    gate.set()
    fleet.converger.settle(WAIT_S)
    assert (fleet.dialled, fleet.woken) == ([GOOD], [])
    fleet.converger.close()
