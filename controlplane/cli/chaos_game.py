"""A game day: a seeded series of faults, one after the other, with full health between; and what came of each."""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pydantic import BaseModel

from controlplane.portal import chaosschemas as chaos_api

FAULTS = ("kill-broker", "kill-agent", "pause", "kill-vm")
"""What is drawn from where nothing else is said; the first three leave the VM where it is."""

KNOWN = frozenset({*FAULTS, "kill-zookeeper", "lose-volume", "full-disk", "slow-disk", "split", "packet-loss"})
"""What may be drawn from. Whole racks are no game."""

_OF_BROKERS = frozenset({"kill-broker", "lose-volume", "full-disk", "slow-disk"})
_LOSS_PERCENT, _SLOW_MIB_PER_S = 20.0, 1.0

LOOK_EVERY_S = 0.5


class Cluster(Protocol):
    """What a game needs of the server."""

    def health(self, name: str) -> chaos_api.HealthOut: ...

    def inject_chaos(self, name: str, order: chaos_api.ChaosIn) -> chaos_api.ChaosOut: ...


class EventReport(BaseModel):
    """One fault. Seconds count from its injection; None: it was never noticed, or did not heal in time."""

    fault: str
    vm: str
    detected_s: float | None
    healed_s: float | None
    under_min_isr_s: float
    first_sign: str
    findings: list[str]


class GameReport(BaseModel):
    """A whole game. `stopped` says why it ended early, "" where it did not."""

    cluster: str
    seed: int
    events: list[EventReport]
    detected_p50_s: float | None
    detected_p95_s: float | None
    healed_p50_s: float | None
    healed_p95_s: float | None
    under_min_isr_s: float
    stopped: str


@dataclass(slots=True)
class Game:
    """Plays one game. `now` is a monotonic clock in seconds."""

    cluster: Cluster
    name: str
    seed: int
    sleep: Callable[[float], None]
    now: Callable[[], float]
    tell: Callable[[str], None]
    lasts_s: float = 15.0
    heal_within_s: float = 300.0
    faults: Sequence[str] = FAULTS
    confirm: str = ""
    force: bool = False
    played: list[EventReport] = field(default_factory=list)

    def play(self, events: int, within_s: float) -> GameReport:
        """So many faults, or as many as fit. Raises what the server refuses."""
        draw = random.Random(self.seed)  # noqa: S311 - the same seed is to draw the same faults
        ends_at, stopped = self.now() + within_s, ""
        for number in range(events):
            if not self._await_health(self.heal_within_s):
                stopped = f"not in full health after {self.heal_within_s:.0f} s: {self.cluster.health(self.name).why}"
                break
            if self.now() >= ends_at:
                stopped = f"{within_s:.0f} s are over after {number} of {events} faults"
                break
            health = self.cluster.health(self.name)
            fault = draw.choice(list(self.faults))
            may_be_hit = sorted(_may_be_hit(fault, health))
            if not may_be_hit:
                stopped = f"{fault} suits no VM of {self.name}"
                break
            vm = draw.choice(may_be_hit)
            self.tell(f"{number + 1}/{events}: {fault} of {vm}")
            self.played.append(self._one(fault, vm))
        return self._report(stopped)

    def _one(self, fault: str, vm: str) -> EventReport:
        order = chaos_api.ChaosIn(
            fault=fault,
            vms=[vm],
            for_s=self.lasts_s,
            confirm=self.confirm,
            force=self.force,
            loss_percent=_LOSS_PERCENT,
            mib_per_s=_SLOW_MIB_PER_S,
            reason=f"game, seed {self.seed}",
        )
        began = self.now()
        chaos = self.cluster.inject_chaos(self.name, order).chaos
        detected, sign, findings, below_s = None, "", dict[str, None](), 0.0
        last, well_since = self.now(), 0.0
        while self.now() - began < self.heal_within_s:
            health = self.cluster.health(self.name)
            at = self.now()
            below_s += at - last if health.under_min_isr else 0.0
            last = at
            findings |= dict.fromkeys(health.findings)
            if not health.healthy and detected is None:
                detected, sign = at - began, health.why
            well_since = well_since if health.healthy else LOOK_EVERY_S + at - began
            if health.healthy and not any(c.chaos == chaos for c in health.open):
                return self._told(fault, vm, detected, well_since, below_s, sign, findings)
            self.sleep(LOOK_EVERY_S)
        return self._told(fault, vm, detected, None, below_s, sign, findings)

    def _told(
        self,
        fault: str,
        vm: str,
        detected: float | None,
        healed: float | None,
        below_s: float,
        sign: str,
        findings: dict[str, None],
    ) -> EventReport:
        noticed = "not noticed" if detected is None else f"noticed after {detected:.1f} s ({sign})"
        ended = "did not heal" if healed is None else f"healthy after {healed:.1f} s"
        self.tell(f"  {noticed}, {ended}, {below_s:.1f} s below min ISR")
        return EventReport(
            fault=fault,
            vm=vm,
            detected_s=_rounded(detected),
            healed_s=_rounded(healed),
            under_min_isr_s=round(below_s, 1),
            first_sign=sign,
            findings=list(findings),
        )

    def _await_health(self, within_s: float) -> bool:
        until = self.now() + within_s
        while self.now() < until:
            health = self.cluster.health(self.name)
            if health.healthy and not health.open:
                return True
            self.sleep(LOOK_EVERY_S)
        return False

    def _report(self, stopped: str) -> GameReport:
        detected = [e.detected_s for e in self.played if e.detected_s is not None]
        # What nobody noticed had nothing to heal: it would only make the others look better.
        healed = [e.healed_s for e in self.played if e.healed_s is not None and e.detected_s is not None]
        return GameReport(
            cluster=self.name,
            seed=self.seed,
            events=self.played,
            detected_p50_s=quantile(detected, 0.5),
            detected_p95_s=quantile(detected, 0.95),
            healed_p50_s=quantile(healed, 0.5),
            healed_p95_s=quantile(healed, 0.95),
            under_min_isr_s=round(sum(e.under_min_isr_s for e in self.played), 1),
            stopped=stopped,
        )


def _may_be_hit(fault: str, health: chaos_api.HealthOut) -> list[str]:
    if fault == "kill-zookeeper":
        return health.zookeepers
    return health.brokers if fault in _OF_BROKERS else [*health.brokers, *health.controllers]


def quantile(values: Sequence[float], share: float) -> float | None:
    """The smallest value that at least this share of them does not exceed; None of none."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)] if values else None


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)
