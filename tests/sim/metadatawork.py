"""How the brokers of a simulated cluster come on with metadata: as fast as the log grows, slowly, or not at all.

What is found and measured of it is not said here: each agent has its own real check-up, which is shown figures as a
broker's metrics port tells them.
"""

from bisect import bisect_right
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from agent.health.checkup import Checkup
from agent.health.vitals import MetadataVitals, Vitals
from agent.wire import FindingReport, ProgressReport
from tests.sim.vms import Process, Vm

if TYPE_CHECKING:
    from tests.sim.services import Services

LOOK_EVERY_S = 15.0
NO_OPS_PER_S = 2.0


@dataclass(slots=True)
class Applying:
    """One process. `at_once` so many records are one change: until it is done no offset advances, partitions do."""

    process: Process
    pid: int
    checkup: Checkup
    applied: float
    fetched: float
    seen_s: float
    at_once: float = 0.0
    done_of_it: float = 0.0


@dataclass(slots=True)
class MetadataWork:
    """Of a cluster. `per_s`: records a second a broker applies, where its machine is busy; without, all at once."""

    per_s: dict[int, float] = field(default_factory=dict)
    stuck: set[int] = field(default_factory=set)
    """Brokers whose process applies nothing any more; a fresh one does."""
    in_batches: bool = False
    end: float = 1000.0
    written: list[tuple[float, float]] = field(default_factory=lambda: [(1000.0, 0.0)])
    """(offset, when it was written), rising."""
    by_vm: dict[str, Applying] = field(default_factory=dict)
    started: int = 0

    @property
    def is_trouble(self) -> bool:
        """Whether any broker is slow or stuck, or its agent still says so."""
        return bool(self.per_s or self.stuck) or any(one.checkup.findings for one in self.by_vm.values())

    def create_topic(self, records: int) -> None:
        """So many records at once: a topic of half as many partitions."""
        self.end += records

    def look(
        self, machines: "Services", vm: Vm, process: Process, at: datetime
    ) -> tuple[tuple[FindingReport, ...], tuple[ProgressReport, ...]]:
        """What the agent of that VM finds, and measures, now."""
        now_s = machines.seconds
        self._write(now_s)
        broker, one = process.document.node_id, self.by_vm.get(vm.key)
        if one is None or one.process is not process:
            one = self._begin(vm, process, now_s)
        self._apply(one, broker, now_s)
        one.checkup.look(now_s, one.pid, lambda: self._vitals(one, now_s))
        findings = tuple(
            FindingReport(
                name=f.name,
                since=at - timedelta(seconds=now_s - f.since_s),
                message=f.message.partition(" ")[0] + " metadata is old",
            )
            for f in one.checkup.findings
        )
        told = tuple(
            ProgressReport(
                name=p.name, over_s=p.over_s, advanced=p.advanced, left=p.left, closer=p.closer, position=p.position
            )
            for p in one.checkup.progress
        )
        return findings, told

    def _begin(self, vm: Vm, process: Process, now_s: float) -> Applying:
        """A fresh process applies the newest part of the log anew, and is rid of what its predecessor hung in."""
        again = vm.key in self.by_vm
        if again:
            self.stuck.discard(process.document.node_id)
        self.started += 1
        applied = max(0.0, self.end - 4000.0) if again else self.end
        one = Applying(process, self.started, Checkup(LOOK_EVERY_S), applied, self.end, now_s)
        self.by_vm[vm.key] = one
        return one

    def _write(self, now_s: float) -> None:
        _, before_s = self.written[-1]
        if now_s > before_s:
            self.end += NO_OPS_PER_S * (now_s - before_s)
            self.written.append((self.end, now_s))

    def _apply(self, one: Applying, broker: int, now_s: float) -> None:
        spent_s, one.seen_s, one.fetched = now_s - one.seen_s, now_s, self.end
        if broker in self.stuck:
            return
        per_s = self.per_s.get(broker)
        if per_s is None:
            one.applied = self.end
        elif not self.in_batches:
            one.applied = min(self.end, one.applied + per_s * spent_s)
        else:
            one.at_once = one.at_once or self.end - one.applied
            one.done_of_it += per_s * spent_s
            if one.done_of_it >= one.at_once:
                one.applied, one.at_once, one.done_of_it = one.applied + one.at_once, 0.0, 0.0

    def _vitals(self, one: Applying, now_s: float) -> Vitals:
        next_one = bisect_right(self.written, (one.applied, float("inf")))
        written_s = self.written[next_one][1] if next_one < len(self.written) else now_s
        opened = int(one.applied + one.done_of_it) // 2
        return Vitals(
            at_s=now_s,
            pid=one.pid,
            partitions=opened,
            leaders=opened // 3,
            metadata=MetadataVitals(
                lag_ms=int(1000 * (now_s - written_s)), applied=int(one.applied), log_end=int(one.fetched)
            ),
        )
