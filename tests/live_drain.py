"""Carries a drain through on real brokers with the converger's own step, tick by tick, and keeps what it saw.

Only the events are folded here and the VMs imagined: metadata, plan, throttles, sources and moves are real.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.traffic import UNKNOWN, TrafficWatch
from controlplane.converger.situation.decision import Decision
from controlplane.converger.situation.effects import ElectPreferred, Reassign, SetThrottle
from controlplane.converger.situation.ports import Ports
from controlplane.converger.steps.rolls.drains import drain_step
from controlplane.converger.tick.act import carry_out
from controlplane.kafka.gateway import KafkaGateway
from events import facts
from planner.drain.check import check
from planner.drain.plan import DrainPlan
from planner.drain.request import NO_VOLUMES, Bandwidth, DrainRequest, VolumeLimits
from planner.drain.solve import solve
from planner.observed import KafkaSnapshot
from tests.builders import a_drain, a_situation, a_view, an_instance

OUTGOING, SUCCESSOR = 1000, 1010


@dataclass(slots=True)
class Tick:
    """What one tick saw and did. `held_bytes`: the successor's logs; `open_moves`: its running copies."""

    at_s: float
    held_bytes: int
    open_moves: int
    sentence: str


@dataclass(slots=True)
class LiveDrain:
    """Empties broker 1000 into 1010 (same rack); 1001 and 1002 stay."""

    gateway: KafkaGateway
    plan: DrainPlan
    ticks: list[Tick] = field(default_factory=list)
    elected: int = 0
    most_throttled: int = 0
    watch: TrafficWatch | None = None
    """What sees how much is written; without, no throttle is ever corrected."""

    @classmethod
    def planned(
        cls,
        gateway: KafkaGateway,
        *,
        bandwidth_bytes_per_s: int,
        volumes: VolumeLimits = NO_VOLUMES,
        client_fraction: float = 0.0,
    ) -> "LiveDrain":
        """Plans from the brokers' own word; where clients keep nothing, the bandwidth is the promise."""
        seen = gateway.snapshot()
        asked = DrainRequest.from_snapshot(
            seen,
            cluster_uid="c0ffee",
            drain_id="drain-1",
            outgoing=(OUTGOING,),
            targets=(1001, 1002, SUCCESSOR),
            successors={OUTGOING: SUCCESSOR},
            bandwidth=Bandwidth(bandwidth_bytes_per_s, "measured"),
            client_fraction=client_fraction,
            volumes=volumes,
        )
        plan = solve(asked)
        assert isinstance(plan, DrainPlan), plan
        assert check(plan, seen, asked) == ()
        return cls(gateway, plan)

    def carried_out(self, *, tick_s: float = 1.0, within_s: float) -> Iterator[Tick]:
        """Ticks until the broker is drained. Raises TimeoutError."""
        began, drain = time.monotonic(), a_drain(batch=-1, moving_at=None)
        while True:
            tick_began = time.monotonic()
            kafka = self.gateway.snapshot()
            if self.watch is not None:
                self.watch.see(kafka, {})
            while True:
                decision = self._decided(kafka, drain)
                for event in decision.events:
                    if isinstance(event, facts.NodeDrained):
                        yield self._noted(kafka, began, decision)
                        return
                    assert isinstance(event, facts.BatchStarted), event
                    drain = replace(drain, progress=drain.progress.begun(event.batch, datetime.now(UTC)))
                if not decision.events:
                    break
            self._act(decision)
            yield self._noted(kafka, began, decision)
            if time.monotonic() - began > within_s:
                raise TimeoutError(f"not drained in {within_s:.0f} s: {decision.sentence}")
            time.sleep(max(0.0, tick_s - (time.monotonic() - tick_began)))

    def _decided(self, kafka: KafkaSnapshot, drain: Any) -> Decision:
        old, successor = an_instance(phase=Phase.DRAINING), an_instance(generation=2, service_id=SUCCESSOR)
        view = a_view(old, successor, drain=drain, progressed_at=drain.progress.moving_at)
        now = max(datetime.now(UTC), kafka.at + timedelta(microseconds=1))
        seen = {"kafka": kafka, "plan": self.plan, "plan_sha256": drain.plan.sha256}
        traffic = self.watch.traffic(now) if self.watch else UNKNOWN
        decision = drain_step(a_situation(view, now=now, traffic=traffic, **seen))
        assert decision is not None
        return decision

    def _act(self, decision: Decision) -> None:
        ports = cast(Ports, SimpleNamespace(epoch=lambda: 1, kafka=lambda _view: self.gateway))
        situation = cast(Any, SimpleNamespace(view=None))
        for effect in decision.effects:
            refused = carry_out(effect, situation, ports)
            assert not refused, refused
            if isinstance(effect, ElectPreferred):
                self.elected += len(effect.partitions)
            if isinstance(effect, SetThrottle):
                listed = sum(len(followers) for _, followers in effect.plan.topics.values())
                self.most_throttled = max(self.most_throttled, listed)
            if isinstance(effect, Reassign):
                assert len(effect.targets) <= len(self.plan.moves)

    def _noted(self, kafka: KafkaSnapshot, began: float, decision: Decision) -> Tick:
        disk = kafka.log_dirs.get(SUCCESSOR)
        open_moves = sum(SUCCESSOR in p.adding for p in kafka.moving())
        tick = Tick(time.monotonic() - began, disk.used_bytes if disk else 0, open_moves, decision.sentence)
        self.ticks.append(tick)
        return tick
