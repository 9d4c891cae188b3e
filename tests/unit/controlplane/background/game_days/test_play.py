"""How a game day is played: what is drawn, what is measured, and what ends it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from controlplane.background.game_days.full_health import FullHealth
from controlplane.background.game_days.play import NotYet, Over, play
from events import facts

A, B = "brokers-a-0.g1", "brokers-b-0.g1"


def asked(
    *, seed: int = 1, wanted: int = 3, within_s: float = 600.0, faults: Sequence[str] = ("pause",)
) -> facts.GameStarted:
    who = ("asked by anna", "person:anna", "user:anna", "")
    return facts.GameStarted("g", seed, wanted, within_s, 15.0, 300.0, tuple(faults), *who)


@dataclass
class FakeTable:
    """Unhealthy from 2 s after a fault until `heals_s` after it; the fault itself lasts 5 s. Time passes by waiting."""

    heals_s: float = 20.0
    seconds: float = 0.0
    done: list[tuple[int, str, str]] = field(default_factory=list)
    scores: list[facts.FaultScored] = field(default_factory=list)
    at: float = -1000.0
    unnoticed: Sequence[str] = ("kill-agent",)
    zookeepers: tuple[str, ...] = ()
    refusals: int = 0
    over_after: int = 1000

    def now(self) -> float:
        return self.seconds

    def wait(self, seconds: float) -> None:
        self.seconds += seconds

    def bring_about(self, turn: int, fault: str, vm: str) -> str:
        if len(self.done) >= self.over_after:
            raise Over("enough")
        if self.refusals:
            self.refusals -= 1
            raise NotYet
        self.done.append((turn, fault, vm))
        self.at = self.seconds
        return f"chaos-{turn}"

    def score(self, score: facts.FaultScored) -> None:
        self.scores.append(score)

    def look(self) -> FullHealth:
        since = self.seconds - self.at
        is_unhealthy = bool(self.done) and 2.0 <= since < self.heals_s and self.done[-1][1] not in self.unnoticed
        return FullHealth(
            why="a broker is down" if is_unhealthy else "",
            under_min_isr=int(is_unhealthy and since < 6.0),
            under_replicated=int(is_unhealthy),
            open=frozenset({f"chaos-{len(self.done) - 1}"} if since < 5.0 else ()),
            findings=("Blocked/BrokerDown",) if is_unhealthy else (),
            brokers=(A, B),
            controllers=("controllers-a-0.g1",),
            zookeepers=self.zookeepers,
            racks=("a", "b"),
        )


def test_a_game_measures_when_a_fault_was_noticed_and_when_it_had_healed() -> None:
    table = FakeTable()
    assert play(asked(), table) == ""
    assert [(s.chaos, s.detected_s, s.healed_s) for s in table.scores] == [(f"chaos-{n}", 2.0, 20.0) for n in range(3)]
    assert [s.under_min_isr_s for s in table.scores] == [4.0] * 3
    assert (table.scores[0].findings, table.scores[0].first_sign) == (("Blocked/BrokerDown",), "a broker is down")


def test_a_fault_that_nobody_notices_was_healthy_all_the_time_and_is_waited_out() -> None:
    table = FakeTable()
    assert play(asked(faults=("kill-agent",)), table) == ""
    assert [(s.detected_s, s.healed_s) for s in table.scores] == [(None, 0.0)] * 3
    assert table.seconds >= 15.0


def test_the_same_seed_draws_the_same_faults() -> None:
    tables = [FakeTable(), FakeTable(), FakeTable()]
    for table, seed in zip(tables, (5, 5, 6), strict=True):
        play(asked(seed=seed, faults=("pause", "kill-broker", "kill-vm")), table)
    assert tables[0].done == tables[1].done != tables[2].done


def test_zookeeper_is_killed_where_one_runs_beside_a_broker_too() -> None:
    table = FakeTable(zookeepers=(B,))
    assert play(asked(faults=("kill-zookeeper",)), table) == ""
    assert {vm for _, _, vm in table.done} == {B}


def test_a_fault_that_suits_no_vm_ends_the_game() -> None:
    table = FakeTable()
    assert play(asked(faults=("kill-zookeeper",)), table) == "kill-zookeeper suits no VM"
    assert table.done == []


def test_no_fault_begins_when_the_time_is_over() -> None:
    table = FakeTable()
    assert play(asked(within_s=30.0), table) == "30 s are over after 2 of 3 faults"
    assert len(table.scores) == 2


def test_a_fault_that_does_not_heal_ends_the_game() -> None:
    table = FakeTable(heals_s=10_000.0)
    assert play(asked(), table) == "not in full health after 300 s: a broker is down"
    assert [s.healed_s for s in table.scores] == [None]


def test_a_fault_that_may_not_be_brought_about_yet_is_tried_again_with_the_same_draw() -> None:
    calm, refused = FakeTable(), FakeTable(refusals=3)
    for table in (calm, refused):
        assert play(asked(faults=("pause", "kill-broker")), table) == ""
    assert refused.done == calm.done


def test_a_game_that_is_over_leaves_at_once() -> None:
    table = FakeTable(over_after=1)
    with pytest.raises(Over, match="enough"):
        play(asked(), table)
    assert len(table.scores) == 1
