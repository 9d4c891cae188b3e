"""How one game day is played: a fault, full health again, the next one. It waits, and tells what it saw; the table it
is played on records that."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from controlplane.background.game_days.full_health import FullHealth
from events import facts

LOOK_EVERY_S = 0.5

_OF_BROKERS = frozenset({"kill-broker", "lose-volume", "full-disk", "slow-disk"})


class Over(Exception):
    """No further fault may begin. What now: leave the table. The words are what the report says, "" where somebody else
    has recorded the end."""


class NotYet(Exception):
    """The fault could not be asked for now, as a rule because the cluster is not fully healthy after all. What now:
    wait for that again."""


class Table(Protocol):
    """What a game is played on. Each call raises Over once the game has to end."""

    def now(self) -> float:
        """Seconds of a clock that never goes back."""

    def wait(self, seconds: float) -> None: ...

    def look(self) -> FullHealth: ...

    def bring_about(self, turn: int, fault: str, vm: str) -> str:
        """The id of the fault, recorded and done. Raises NotYet."""

    def score(self, score: facts.FaultScored) -> None: ...


@dataclass(frozen=True, slots=True)
class Draw:
    """What one turn drew. Without a `vm` the fault suits none."""

    fault: str
    vm: str


class Drawing:
    """The same seed draws the same faults, and of the same VMs the same ones."""

    def __init__(self, asked: facts.GameStarted) -> None:
        self._faults = asked.faults
        self._random = random.Random(asked.seed)  # noqa: S311 - the same seed is to draw the same faults

    def draw(self, health: FullHealth) -> Draw:
        fault = self._random.choice(self._faults)
        suits = sorted(_may_be_hit(fault, health))
        return Draw(fault, self._random.choice(suits) if suits else "")


def play(asked: facts.GameStarted, table: Table) -> str:
    """Plays it to its end. Returns why it ended early, "" where all was played; raises Over."""
    drawing = Drawing(asked)
    ends_at = table.now() + asked.within_s
    for turn in range(asked.wanted):
        draw = Draw("", "")
        while True:
            health = _full_health(asked, table)
            if not health.is_full:
                return f"not in full health after {asked.heal_within_s:.0f} s: {health.why}"
            if table.now() >= ends_at:
                return f"{asked.within_s:.0f} s are over after {turn} of {asked.wanted} faults"
            if draw.vm not in (*health.brokers, *health.controllers):
                draw = drawing.draw(health)
            if not draw.vm:
                return f"{draw.fault} suits no VM"
            try:
                began = table.now()
                chaos = table.bring_about(turn, draw.fault, draw.vm)
            except NotYet:
                table.wait(LOOK_EVERY_S)
                continue
            break
        table.score(_judged(asked, table, chaos, began))
    return ""


def _full_health(asked: facts.GameStarted, table: Table) -> FullHealth:
    """The first look at which it is healthy and no fault is open, or the last one before the time is over."""
    until = table.now() + asked.heal_within_s
    while True:
        health = table.look()
        if health.is_full and not health.open:
            return health
        if table.now() >= until:
            return health
        table.wait(LOOK_EVERY_S)


def _judged(asked: facts.GameStarted, table: Table, chaos: str, began: float) -> facts.FaultScored:
    detected, sign, findings, below_s = None, "", dict[str, None](), 0.0
    last, well_since, healed = table.now(), 0.0, None
    while table.now() - began < asked.heal_within_s:
        health = table.look()
        at = table.now()
        below_s += at - last if health.under_min_isr else 0.0
        last = at
        findings |= dict.fromkeys(health.findings)
        if not health.is_full and detected is None:
            detected, sign = at - began, health.why
        well_since = well_since if health.is_full else LOOK_EVERY_S + at - began
        if health.is_full and chaos not in health.open:
            healed = well_since
            break
        table.wait(LOOK_EVERY_S)
    return facts.FaultScored(
        game=asked.game,
        chaos=chaos,
        detected_s=_rounded(detected),
        healed_s=_rounded(healed),
        under_min_isr_s=round(below_s, 1),
        first_sign=sign,
        findings=tuple(findings),
    )


def _may_be_hit(fault: str, health: FullHealth) -> tuple[str, ...]:
    of: Mapping[str, tuple[str, ...]] = {"kill-zookeeper": health.zookeepers}
    return of.get(fault, health.brokers if fault in _OF_BROKERS else (*health.brokers, *health.controllers))


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)
