"""The seeded simulator: the real core and the real loop on simulated time, cloud, agents and Kafka.

A *failpoint* is passed before and after everything with an effect: each append, each run, each call that changes Kafka.
Crashing at the n-th one, for every n, is how a server's sudden death at every step is tried.
"""

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from controlplane.converger.documents import document_for
from controlplane.converger.fleet import FleetBrake
from controlplane.converger.loop import Converger, new_events
from controlplane.converger.observe import has_work
from controlplane.converger.ports import Ports
from controlplane.converger.runner import InfeasibleDrain, PlanRefused, summary
from controlplane.jobstore import MemoryJobStore
from controlplane.latest import MemoryLatestStore
from controlplane.planstore import MemoryPlanStore
from controlplane.streams import cluster_stream
from controlplane.view import ClusterView
from events import facts
from events.envelope import NewEvent, Origin, Recorded
from events.ids import ClusterUid, Epoch, IntentId
from events.memory import MemoryEventStore
from events.spec.conversion import to_data
from events.spec.model import KafkaClusterDocument
from planner.drain.check import check
from planner.drain.infeasible import Infeasible
from planner.drain.request import DrainRequest
from planner.drain.solve import solve
from planner.observed import KafkaSnapshot
from providers.base import TerraformRun
from tests.fakes.kafka import FakeKafka
from tests.sim.machines import Machines, Violation

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
UID = ClusterUid("c0ffee00c0ffee00c0ffee00c0ffee00")
RUN_S = 2.0
PLAN_S = 1.0


_NUMBERS = re.compile(r"[0-9.]+")


class Crash(BaseException):
    """The server dies here. Not an Exception: nothing in the server may catch it."""


@dataclass(slots=True)
class Failpoints:
    """Counts the points passed; crashes at the one it is told to."""

    crash_at: int = -1
    passed: int = 0
    names: list[str] = field(default_factory=list)

    def reach(self, name: str) -> None:
        self.passed += 1
        self.names.append(name)
        if self.passed == self.crash_at:
            raise Crash(name)


class CrashingStore(MemoryEventStore):
    """The memory store with a failpoint before and after each append."""

    def __init__(self, points: Failpoints, clock: Callable[[], datetime]) -> None:
        super().__init__(clock=clock)
        self._points = points

    def append(
        self, stream: str, events: Sequence[NewEvent], *, expected_version: int, origin: Origin
    ) -> list[Recorded]:
        names = ",".join(e.type for e in events)
        self._points.reach(f"before {names}")
        recorded = super().append(stream, events, expected_version=expected_version, origin=origin)
        self._points.reach(f"after {names}")
        return recorded


class CrashingKafka:
    """The gateway with a failpoint before and after each call that changes something."""

    CHANGES = frozenset(
        {
            "reassign",
            "cancel",
            "set_throttle",
            "clear_throttles",
            "unregister_broker",
            "elect_preferred",
            "update_feature",
        }
    )

    def __init__(self, kafka: FakeKafka, points: Failpoints) -> None:
        self._kafka = kafka
        self._points = points

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._kafka, name)
        if name not in self.CHANGES:
            return call

        def guarded(*args: Any, **kwargs: Any) -> Any:
            self._points.reach(f"before {name}")
            answer = call(*args, **kwargs)
            self._points.reach(f"after {name}")
            return answer

        return guarded


@dataclass(slots=True)
class _Due:
    at: float
    job_id: str
    epoch: Epoch
    work: Callable[[], dict[str, Any]]


class SimRunner:
    """Jobs that end when simulated time says so. A job of a dead server never ends; its half-done work may stay."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._due: list[_Due] = []

    def terraform(self, job_id: str, run: TerraformRun, *, epoch: Epoch) -> None:
        world = self._world
        world.points.reach(f"before run {run.kind}")
        self._enqueue(job_id, run.resources.cluster_uid, RUN_S, epoch, lambda: world.terraform(run))
        world.points.reach(f"after run {run.kind} started")

    def planning(self, job_id: str, request: DrainRequest, snapshot: KafkaSnapshot, *, epoch: Epoch) -> None:
        self._enqueue(job_id, request.cluster_uid, PLAN_S, epoch, lambda: self._plan(request, snapshot))

    def advance(self) -> None:
        for due in [d for d in self._due if d.at <= self._world.seconds]:
            self._due.remove(due)
            job = IntentId(due.job_id)
            try:
                result = due.work()
            except (InfeasibleDrain, PlanRefused, RuntimeError) as error:
                name = "Infeasible" if isinstance(error, InfeasibleDrain) else type(error).__name__
                self._world.jobs.fail(job, epoch=due.epoch, error_class=name, error_message=str(error))
                continue
            self._world.jobs.succeed(job, epoch=due.epoch, result=result)

    def _enqueue(self, job_id: str, uid: str, seconds: float, epoch: Epoch, work: Callable[[], dict[str, Any]]) -> None:
        job = self._world.jobs.create(
            IntentId(job_id), cluster_uid=ClusterUid(uid), kind="sim", epoch=epoch, owner="sim"
        )
        if job.started_at is None:
            self._world.jobs.start(IntentId(job_id), epoch=epoch, owner="sim")
            self._due.append(_Due(self._world.seconds + seconds, job_id, epoch, work))

    def _plan(self, request: DrainRequest, snapshot: KafkaSnapshot) -> dict[str, Any]:
        answer = solve(request)
        if isinstance(answer, Infeasible):
            raise InfeasibleDrain(answer.message)
        violations = check(answer, snapshot, request)
        if violations:
            raise PlanRefused(str(violations[0]))
        return summary(answer, self._world.plans.put(answer.to_bytes()))


class World:
    """Everything outside the server, and the server itself, which may die and be born again."""

    def __init__(self, *, seed: int = 0, crash_at: int = -1, tick_s: float = 1.0, version: str = "4.1.1") -> None:
        self.random = random.Random(seed)
        self.tick_s = tick_s
        self.seconds = 0.0
        self.points = Failpoints(crash_at)
        self.store = CrashingStore(self.points, self.clock)
        self.jobs = MemoryJobStore(clock=self.clock)
        self.plans = MemoryPlanStore()
        self.latest = MemoryLatestStore()
        self.kafka = FakeKafka(version=version, clock=self.clock)
        self.machines = Machines(self.kafka, self.latest, self.clock)
        self.epoch = Epoch(0)
        self.story: list[str] = []
        self.ticks = 0
        self.crashes: list[str] = []
        self.interrupt_runs = 0
        """How many Terraform runs die half-way from now on."""
        self._told = 0
        self._last_words = ""
        self.start_server()

    # --- people -----------------------------------------------------------------------------------------------

    def declare(self, document: KafkaClusterDocument) -> None:
        view = self.view()
        fact = facts.ClusterDeclared(UID, document.metadata.name, view.generation + 1, to_data(document), "test")
        self.person(fact)

    def person(self, fact: object) -> None:
        """Records what a person asked for. People do not crash the server."""
        stream, version = cluster_stream(UID), self.view().version
        events = new_events(stream, version, [fact])
        MemoryEventStore.append(self.store, stream, events, expected_version=version, origin=Origin("person:test"))

    # --- the server -------------------------------------------------------------------------------------------

    def start_server(self) -> None:
        """A new server process with a new epoch: it knows what is recorded, and nothing else."""
        self.epoch = Epoch(self.epoch + 1)
        self.server_ticks = 0
        self.runner = SimRunner(self)
        for job in self.jobs.open_jobs():
            self.jobs.fail(job.intent_id, epoch=self.epoch, error_class="RunInterrupted", error_message="server died")
        kafka = CrashingKafka(self.kafka, self.points)
        self.converger = Converger(
            Ports(
                store=self.store,
                jobs=self.jobs,
                plans=self.plans,
                latest=self.latest,
                inventory=self.machines,
                runner=self.runner,
                kafka=lambda _view: kafka,
                boot_data=lambda uid, node, generation, intent: f"{node}.g{generation}",
                installation_id="sim",
                clock=self.clock,
                epoch=lambda: self.epoch,
            ),
            FleetBrake(),
        )

    def clock(self) -> datetime:
        return BEGAN + timedelta(seconds=self.seconds)

    def view(self) -> ClusterView:
        """The cluster as recorded, by a fold of its own."""
        self.converger.catch_up()
        found = self.converger.view(UID)
        return found if found is not None else ClusterView(uid=UID)

    def sentence(self) -> str:
        said = self.converger.said(UID)
        return said.sentence if said else ""

    def terraform(self, run: TerraformRun) -> dict[str, Any]:
        if self.interrupt_runs > 0:
            self.interrupt_runs -= 1
            self.machines.apply(run, changes=1)
            raise RuntimeError("terraform was killed half-way")
        self.machines.apply(run)
        return {}

    # --- time -------------------------------------------------------------------------------------------------

    def tick(self) -> tuple[int, int]:
        """One tick and one step of time. Returns (events, effects). A crash is survived by a new server."""
        self.ticks += 1
        events = effects = 0
        try:
            report = self.converger.tick()
            events, effects = report.events, report.effects
            self.server_ticks += 1
        except Crash as crash:
            self.crashes.append(str(crash))
            self.machines_survive_crash()
            self.start_server()
        self._tell()
        self.seconds += self.tick_s
        self.kafka.advance(self.tick_s)
        self.machines.advance(self.tick_s, self._document)
        self.runner.advance()
        self.check()
        return events, effects

    def run(self, *, until: Callable[["World"], bool], ticks: int) -> None:
        """Ticks until the condition holds. Raises when it does not in time, with the story so far."""
        for _ in range(ticks):
            if until(self):
                return
            self.tick()
        raise Violation(f"P7: not there after {ticks} ticks: {self.sentence()}\n" + "\n".join(self.story[-40:]))

    def converge(self, *, ticks: int = 400) -> None:
        """Ticks until the declared generation is reached, then makes sure that nothing happens any more (P6)."""
        self.run(until=lambda w: w.is_converged(), ticks=ticks)
        self.settle()

    def is_converged(self) -> bool:
        view = self.view()
        return view.generation > 0 and view.converged == view.generation and not has_work(view)

    def settle(self) -> None:
        """P6: converged, then five ticks without event or effect."""
        for _ in range(3):
            self.tick()
        for _ in range(5):
            events, effects = self.tick()
            if events or effects:
                raise Violation(f"P6: {events} events, {effects} effects after convergence: {self.sentence()}")

    def hold(self, *, ticks: int = 300) -> None:
        """Ticks until an aborted cluster rests in what it is, then makes sure that it really rests."""
        self.run(until=lambda w: w.sentence().startswith("aborted: "), ticks=ticks)
        for _ in range(3):
            self.tick()
        for _ in range(5):
            events, effects = self.tick()
            if events or effects:
                raise Violation(f"P6: {events} events, {effects} effects after an abort: {self.sentence()}")

    def machines_survive_crash(self) -> None:
        """What a dying server leaves behind: half of a run may have been done."""
        for due in self.runner._due:
            if self.random.random() < 0.5:
                with_effect = due.work
                try:
                    with_effect()
                except (InfeasibleDrain, PlanRefused, RuntimeError):
                    continue

    # --- what must always hold --------------------------------------------------------------------------------

    def check(self) -> None:
        """P1, P2, P3, P5 after every step; P8 for whoever is not converged."""
        if self.kafka.lost():
            raise Violation(f"P2: {self.kafka.lost()} acknowledged records are on no disk any more")
        for fall in self.kafka.fell_below:
            if "died" not in fall.cause:
                raise Violation(f"P1: {fall.partition} fell below min ISR by {fall.cause} at {fall.at}")
        self._check_racks()
        just_born = not self.server_ticks
        if not self.is_converged() and not just_born and not self.sentence():
            raise Violation("P8: not converged and no reason given")

    def _check_racks(self) -> None:
        view = self.view()
        if view.unreadable:
            raise Violation(f"history unreadable: {view.unreadable}")
        stopping = {
            i.planned.rack
            for i in view.brokers()
            if i.phase in ("fencing", "fenced") and not i.lost and self.kafka_hosts(i.service_id)
        }
        if len(stopping) > 1:
            raise Violation(f"P3: brokers of racks {sorted(stopping)} are stopped with replicas on them")

    def kafka_hosts(self, broker: int) -> int:
        return sum(broker in p.replicas for p in self.kafka.partitions())

    def quorum_is_whole(self) -> bool:
        """Whether every controller that should run does."""
        expected = [i for i in self.view().controllers() if i.phase == "joined"]
        up = {
            vm.process.document.node_id
            for vm in self.machines.vms.values()
            if vm.alive and vm.process and vm.process.up
        }
        in_hand = [i for i in self.view().controllers() if i.phase not in ("joined", "requested")]
        return not in_hand and all(i.service_id in up for i in expected)

    def _document(self, uid: str, key: str) -> Any:
        return document_for(self.view(), key, epoch=int(self.epoch))

    # --- the story --------------------------------------------------------------------------------------------

    def _tell(self) -> None:
        for recorded in self.store.read_all(self._told):
            self._told = recorded.position
            self.story.append(f"{self.seconds:6.0f} s  {recorded.type:28} {_gist(recorded)}")
        sentence = self.sentence()
        if _NUMBERS.sub("#", sentence) != self._last_words:
            # The same sentence with another number is no news.
            self._last_words = _NUMBERS.sub("#", sentence)
            self.story.append(f"          {sentence}")


def _gist(recorded: Recorded) -> str:
    """The part of an event that tells the story."""
    data = recorded.data
    if recorded.type == "surge.requested":
        return ", ".join(
            f"{i['node']}.g{i['generation']} ({i['service']} {i['service_id']})" for i in data["instances"]
        )
    if recorded.type == "cluster.declared":
        return f"{data['name']} generation {data['generation']}"
    if recorded.type == "surge.completed":
        return ", ".join(i["key"] for i in data["instances"])
    if recorded.type == "quorum.founded":
        return f"{len(data['voters'])} controllers at {data['metadata_level']}"
    if recorded.type == "drain.requested":
        return f"{', '.join(data['keys'])} round {data['round']}: {data['reason']}"
    if recorded.type == "drain.planned":
        return f"{data['moves']} moves, {data['bytes']} bytes, {data['batches']} batches, {data['engine']}"
    keep = ("key", "keys", "reason", "node", "old", "new", "feature", "level", "generation", "type", "status", "proof")
    return " ".join(f"{k}={_short(data[k])}" for k in keep if k in data)


def _short(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
