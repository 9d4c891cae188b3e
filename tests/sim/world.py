"""The seeded simulator: the real core and the real loop on simulated time, cloud, agents and Kafka.

A *failpoint* is passed before and after everything with an effect: each append, each run, each call that changes Kafka.
Crashing at the n-th one, for every n, is how a server's sudden death at every step is tried.
"""

import random
import re
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Any, cast

from controlplane.cluster.kedge_rights import AclReconciler
from controlplane.cluster.view import ClusterView
from controlplane.cluster.work_in_hand import has_work
from controlplane.converger.questions.rolls.pending_changes import pending_changes
from controlplane.converger.situation.observation import InventorySeen
from controlplane.converger.situation.ports import CloudTraits, Ports, ZooKeeperPorts
from controlplane.converger.tick.cluster_tick import new_events
from controlplane.converger.tick.fleet_brake import FleetBrake
from controlplane.converger.tick.loop import Converger
from controlplane.converger.tick.runner import InfeasibleDrain, PlanRefused
from controlplane.converger.tick.sources.brokers import LOOK_EVERY
from controlplane.fleet.freezes.state import FreezeCache
from controlplane.fleet.images.state import ImageCache
from controlplane.fleet.spec_order import SpecOrderCache
from controlplane.kafka.errors import KafkaUnavailable
from controlplane.kafka.zookeeper.content import EnsembleContent
from controlplane.kafka.zookeeper.locks import RESTART
from controlplane.storage.lease import LostLeadership
from controlplane.storage.streams import cluster_stream
from events import facts
from events.envelope import NewEvent, Origin, Recorded
from events.errors import StoreUnavailable
from events.ids import ClusterUid, Epoch
from events.spec.conversion import to_data
from events.spec.model import KafkaClusterDocument
from planner.rollout.windows import Freeze
from providers.base import TerraformRun
from providers.errors import ProviderError
from providers.handover import Handover
from tests.builders import a_document
from tests.fakes.event_store import MemoryEventStore
from tests.fakes.jobs import MemoryJobStore
from tests.fakes.kafka import FakeKafka
from tests.fakes.latest_values import MemoryLatestStore
from tests.fakes.plans import MemoryPlanStore
from tests.fakes.user_passwords import FakePasswords
from tests.fakes.zookeeper import FakeNodes
from tests.sim.document_offers import document_told
from tests.sim.evidence import Calm, Evidence, LastTick, StaleWrite, Violation, has_leaders_to_get_back
from tests.sim.failpoints import Crash, CrashingKafka, CrashingStore, Failpoints, SimRestartLock
from tests.sim.gist import gist
from tests.sim.guarded import GUARDED_CALLS, guarded_changes
from tests.sim.jobs import SimRunner
from tests.sim.machines import Machines
from tests.sim.properties import is_held_up, judge
from tests.sim.reports import KeptReport
from tests.sim.rest import is_quiet, noticed_every_loss, scene_of, values_by_hand, values_left, waits_for_a_look
from tests.sim.stops import fence_of, vote_trouble
from tests.sim.vms import voting_on

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
UID = ClusterUid("c0ffee00c0ffee00c0ffee00c0ffee00")
NEIGHBOUR = ClusterUid("bad0bad0bad0bad0bad0bad0bad0bad0")

PUT_RIGHT_WITHIN_S = 15.0
"""A thread pool at most doubles with each step, so a value that a look finds may take some."""

_NUMBERS = re.compile(r"[0-9.]+")


class PoisonedInventory:
    """The inventory, but for the neighbour: its ticks get this far and fail. So do those of all while `breaks` says
    so: "looks" with other words each time, "decisions" by an answer nobody was written for."""

    def __init__(self, machines: Machines) -> None:
        self._machines = machines
        self.breaks = ""
        self.broken = 0

    def seen(self, view: ClusterView, *, newer_than: datetime | None = None) -> InventorySeen:
        if view.uid == NEIGHBOUR:
            raise StoreUnavailable("poisoned")
        self.broken += bool(self.breaks)
        if self.breaks == "looks":
            raise ValueError(f"invalid literal for int() with base 10: 'word {self.broken}'")
        seen, nothing = self._machines.seen(view, newer_than=newer_than), cast(Any, None)
        return replace(seen, instances=nothing) if self.breaks else seen

    def terminate(self, view: ClusterView, cloud_id: str) -> None:
        self._machines.terminate(view, cloud_id)


class World:
    """Everything outside the server, and the server itself, which may die and be born again."""

    installation_id, uid = "sim", UID
    kafka_type: type[FakeKafka] = FakeKafka

    def __init__(self, *, seed: int = 0, crash_at: int = -1, tick_s: float = 1.0, version: str = "4.1.1") -> None:
        self.freezes: tuple[Freeze, ...] = ()
        """In force from the next start of the server on, as those of its settings are."""
        self.knows_kedge_rights = True
        """From the next start of the server on: whether it looks at its own ACLs; a release before did not."""
        self.cost_tags: tuple[str, ...] = ()
        """Labels that are put on clouds, from the next start of the server on."""
        self.brake: FleetBrake | None = None
        self.images: ImageCache | None = None
        self.order: SpecOrderCache | None = None
        """Shared with other worlds from the next start of the server on, where this is one cluster of a fleet."""
        self.random = random.Random(seed)
        self.tick_s = tick_s
        self.seconds = 0.0
        self._now = 0.0, BEGAN
        self.points = Failpoints(crash_at)
        self.passwords = FakePasswords()
        self.store = CrashingStore(self.points, self.clock)
        self.jobs = MemoryJobStore(clock=self.clock)
        self.plans = MemoryPlanStore()
        self.latest = MemoryLatestStore()
        self.kafka = self.kafka_type(version=version, clock=self.clock)
        self.machines = self.make_machines()
        self.machines.report_type = KeptReport
        self.inventory = PoisonedInventory(self.machines)
        self.points.take_over = self._take_over
        self.lock_nodes = FakeNodes()
        """The locks in the cluster's ZooKeeper, where it has one."""
        self.epoch = Epoch(0)
        self.story: list[str] = []
        self.ticks = 0
        self.crashes: list[str] = []
        self.usurped = 0
        self.calm = Calm()
        self.last_tick = LastTick(self.clock())
        self.had_work = False
        self.filter_rules = ""
        """Of every VM, where VMs are to filter packets themselves."""
        self.interrupt_runs = 0
        """How many Terraform runs die half-way from now on."""
        self.refuse_runs: ProviderError | None = None
        """What every Terraform run is answered with, before it makes anything."""
        self.told_late_s = 0.0
        """How long after its end the outcome of a run, or a plan, is told."""
        self._viewed: tuple[Converger | None, int] = None, -1
        self._told = 0
        self._last_words = ""
        self.start_server()

    def make_machines(self) -> Machines:
        return Machines(self.kafka, self.latest, self.clock)

    def handover_on(self, cloud: str) -> Handover:
        return self.machines.handover

    def unlisted_in(self, cloud: str) -> float:
        """How long what was made there may be missing in listings."""
        return 0.0

    def holds_mounted_on(self, cloud: str) -> bool:
        """Whether it keeps a disk that is mounted in a VM that runs."""
        return self.machines.holds_mounted

    # --- people -----------------------------------------------------------------------------------------------

    def declare(self, document: KafkaClusterDocument) -> None:
        view = self.view()
        fact = facts.ClusterDeclared(self.uid, document.metadata.name, view.generation + 1, to_data(document), "test")
        self.person(fact)

    def person(self, fact: object) -> None:
        """Records what a person asked for. People do not crash the server."""
        stream, version = cluster_stream(self.uid), self.view().version
        events = new_events(stream, version, [fact])
        MemoryEventStore.append(self.store, stream, events, expected_version=version, origin=Origin("person:test"))
        self.disturbed()

    def disturbed(self) -> None:
        """Somebody but the server did something: what it is given to converge counts from now."""
        self.calm.since_tick, self.calm.postponed_ticks = self.ticks, 0
        view = self.view()
        self.calm.nodes_to_change = len(pending_changes(view)) + len(view.alive())

    # --- the server -------------------------------------------------------------------------------------------

    def _kedge_rights(self, kafka: CrashingKafka) -> AclReconciler | None:
        if not self.knows_kedge_rights:
            return None
        gateway: Any = kafka
        return AclReconciler(lambda _view: gateway, lambda _view: nullcontext(gateway))

    def start_server(self) -> None:
        """A new server process with a new epoch: it knows what is recorded, and nothing else."""
        self.epoch = Epoch(self.epoch + 1)
        self.server_ticks = 0
        self.runner = SimRunner(self)
        for job in self.jobs.open_jobs():
            self.jobs.fail(job.intent_id, epoch=self.epoch, error_class="RunInterrupted", error_message="server died")
        own = self.epoch
        if (node := self.lock_nodes.held.get(RESTART)) is not None and node[2] == "Kedge":
            del self.lock_nodes.held[RESTART]  # it died with the session of the server before
        self.store.watch = self._recorded
        self._poison_a_neighbour()
        kafka = CrashingKafka(self.kafka, self.points, lambda name, *args: self.saw(name, int(own), *args))
        self.converger = Converger(
            Ports(
                store=self.store,
                jobs=self.jobs,
                plans=self.plans,
                latest=self.latest,
                inventory=self.inventory,
                runner=self.runner,
                kafka=lambda _view: kafka,
                kedge_rights=self._kedge_rights(kafka),
                boot_data=lambda uid, node, generation, intent: f"{node}.g{generation}",
                installation_id=self.installation_id,
                clock=self.clock,
                epoch=lambda: self._right_to_act(own),
                packet_filter=lambda _view, _instance: self.filter_rules,
                passwords=self.passwords,
                clouds=CloudTraits(
                    handover=self.handover_on, unlisted_s=self.unlisted_in, holds_mounted=self.holds_mounted_on
                ),
                zookeeper=ZooKeeperPorts(
                    registered_id=lambda _view: self._registered_id(),
                    fix_cluster_id=self._fix_cluster_id,
                    registry=lambda _view: self.kafka.migration.registry(),
                    forget_migration=self._forget_migration,
                    content_is_right=self._content_is_right,
                    put_content=self._put_content,
                    restart_lock=SimRestartLock(self.lock_nodes, self.points),
                ),
            ),
            self.brake or FleetBrake(),
            images=self.images,
            order=self.order,
            freezes=FreezeCache(self.freezes),
            cost_tags=self.cost_tags,
        )

    def _right_to_act(self, own: Epoch) -> Epoch:
        if own != self.epoch:
            raise LostLeadership(f"epoch {own} is over, {self.epoch} leads")
        return own

    def _registered_id(self) -> str:
        if len(self.kafka.voters_up()) * 2 <= len(self.view().quorum.voters):
            raise KafkaUnavailable(what="looking at the ensemble", where="sim", why="no majority serves")
        return self.machines.ensemble_id

    def _fix_cluster_id(self, view: ClusterView, cluster_id: str) -> None:
        self.points.reach("before fix_cluster_id")
        self._registered_id()
        self.machines.ensemble_id = self.machines.ensemble_id or cluster_id
        self.points.reach("after fix_cluster_id")

    def _forget_migration(self, view: ClusterView) -> None:
        self.points.reach("before forget_migration")
        self.kafka.migration.forget()
        self.points.reach("after forget_migration")

    def _content_is_right(self, view: ClusterView, wanted: EnsembleContent) -> bool:
        self._registered_id()
        return self.machines.ensemble.is_right(wanted)

    def _put_content(self, view: ClusterView, wanted: EnsembleContent) -> None:
        """A server may die half-way: what it had made somebody's by then stays so."""
        self._registered_id()
        self.points.reach("before put_content")
        self.machines.ensemble.begin(wanted)
        self.points.reach("within put_content")
        self.machines.ensemble.put(wanted)
        self.points.reach("after put_content")

    def _take_over(self) -> None:
        """Another server begins while this one is in the middle of a tick. Its runs die with its lease."""
        self.usurped += 1
        self.machines_survive_crash()
        self.start_server()

    def _poison_a_neighbour(self) -> None:
        """A cluster that sorts before ours, with work in hand, whose every tick fails."""
        stream = cluster_stream(NEIGHBOUR)
        if self.store.read_stream(stream):
            return
        document = a_document(name="a-poisoned-neighbour")
        told = facts.ClusterDeclared(NEIGHBOUR, document.metadata.name, 1, to_data(document), "test")
        fails = (  # for long: its standing in this way takes no event
            facts.ConditionChanged("TickFailing", True, "StoreFailed", "poisoned"),
            facts.ConditionChanged("Converged", False, "TickFailing", "poisoned"),
        )
        events = new_events(stream, 0, [told, *fails])
        MemoryEventStore.append(self.store, stream, events, expected_version=0, origin=Origin("person:test"))

    def clock(self) -> datetime:
        if self._now[0] != self.seconds:
            self._now = self.seconds, BEGAN + timedelta(seconds=self.seconds)
        return self._now[1]

    def view(self) -> ClusterView:
        """The cluster as recorded, by the server's fold. Asked dozens of times a tick: mostly nothing came since."""
        server, head = self.converger, self.store.head()
        if self._viewed != (server, head):
            if server.position < head:
                server.catch_up()
            self._viewed = server, head
        return server.view(self.uid) or ClusterView(uid=self.uid)

    def history(self) -> list[Recorded]:
        """All that is recorded of the cluster."""
        return self.store.read_stream(cluster_stream(self.uid))

    def sentence(self) -> str:
        said = self.converger.said(self.uid)
        return said.sentence if said else ""

    def terraform(self, run: TerraformRun) -> dict[str, Any]:
        if self.refuse_runs is not None:
            raise self.refuse_runs
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
        self._look_around()
        server, at, events, effects, crashed = self.converger, self.clock(), 0, 0, False
        try:
            report = server.tick()
            events, effects = report.events, report.effects
            self.server_ticks += int(server is self.converger)
        except LostLeadership:
            crashed = True
        except Crash as crash:
            self.dies(crash)
        spoke = {str(uid): said.at for uid in (self.uid, NEIGHBOUR) if (said := server.said(uid)) is not None}
        self.last_tick = LastTick(at, events, effects, crashed or server is not self.converger, spoke)
        self._tell()
        self.seconds += self.tick_s
        self.kafka.advance(self.tick_s)
        self.machines.advance(self.tick_s, self._document)
        self.runner.advance()
        self.calm.postponed_ticks += int(self.is_postponed())
        judge(self)
        return events, effects

    def dies(self, crash: Crash) -> None:
        """The server does, in its tick or in the middle of an answer, and another one begins."""
        self.crashes.append(str(crash))
        self.machines_survive_crash()
        self.start_server()

    def run(self, *, until: Callable[["World"], bool], ticks: int) -> None:
        """Ticks until the condition holds, those apart for which the server itself has put things off. Raises when it
        does not in time, with the story so far."""
        spent = 0
        while spent < ticks:
            if until(self):
                return
            self.tick()
            spent += int(not self.is_postponed())
        raise Violation(f"P7: not there after {ticks} ticks: {self.sentence()}\n" + "\n".join(self.story[-40:]))

    def converge(self, *, ticks: int = 400) -> None:
        """Ticks until the declared generation is reached, then makes sure that nothing happens any more (P6)."""
        self.run(until=lambda w: w.is_converged() and noticed_every_loss(w), ticks=ticks)
        self.settle()

    def is_converged(self) -> bool:
        view = self.view()
        return view.generation > 0 and view.roll.converged == view.generation and not has_work(view)

    def is_postponed(self) -> bool:
        """Whether what it waits for is tried again at a time of which it told, and which is yet to come."""
        said = self.converger.said(self.uid)
        return said is not None and said.until is not None and said.until > self.clock()

    def is_held(self) -> bool:
        """Whether it waits for a person."""
        return is_held_up(self) or self.view().deleted or bool(self.view().requests.tombstone)

    def ticks_fail(self) -> bool:
        """Whether they do, or it was told that they do and no tick has succeeded since."""
        told = self.view().conditions.get("TickFailing")
        return bool(self.inventory.breaks) or (told is not None and told.status)

    def settle(self) -> None:
        """P6: converged, then five ticks without event or effect, and no live value is left on one broker alone."""
        for done in range(1, ceil((LOOK_EVERY.total_seconds() + PUT_RIGHT_WITHIN_S) / self.tick_s)):
            self.tick()
            is_left = has_leaders_to_get_back(self.kafka.partitions()) or values_left(self) or values_by_hand(self)
            if done >= 3 and not is_left and self.is_converged() and not self.ticks_fail():
                break
        if left := values_left(self):
            raise Violation(f"P6: live values left on one broker after convergence: {sorted(left)}")
        self._rest(after="convergence")

    def hold(self, *, ticks: int = 300) -> None:
        """Ticks until an aborted cluster rests in what it is, then makes sure that it really rests."""
        self.run(until=lambda w: w.sentence().startswith("aborted: "), ticks=ticks)
        for _ in range(3):
            self.tick()
        self._rest(after="an abort")

    def _rest(self, *, after: str) -> None:
        for _ in range(5):
            events, effects = self.tick()
            if events or effects:
                raise Violation(f"P6: {events} events, {effects} effects after {after}: {self.sentence()}")

    def machines_survive_crash(self) -> None:
        """What a dying server leaves behind: half of a run may have been done."""
        for due in self.runner._due:
            if self.random.random() < 0.5:
                try:
                    due.work()
                except (InfeasibleDrain, PlanRefused, ProviderError, RuntimeError):
                    continue

    # --- what the properties are judged by ---------------------------------------------------------------------

    @property
    def evidence(self) -> Evidence:
        return self.machines.evidence

    def saw(self, what: str, epoch: int, *args: Any) -> None:
        """Something was done under an epoch, just now."""
        if what in GUARDED_CALLS:  # a stop is judged by the view before it, and `view()` would take it in
            changes = guarded_changes(self.view(), self.kafka, what, *args)
            self.evidence.guarded += [f"{change} while {self.sentence()!r}" for change in changes]
        if what in ("add_voter", "remove_voter"):
            self.evidence.votes += [s for s in (vote_trouble(self, what, *args),) if s]
        if epoch != self.epoch:
            self.evidence.stale.append(StaleWrite(what, epoch, int(self.epoch)))

    def _recorded(self, events: Sequence[NewEvent], origin: Origin) -> None:
        if origin.epoch is not None:
            self.saw(", ".join(e.type for e in events), int(origin.epoch))
        for event in events:
            stopped = {"instance.fence_requested": "keys", "restart.requested": "key"}.get(event.type)
            named = event.data[stopped] if stopped else ()
            keys = (named,) if isinstance(named, str) else named
            again = (event.data["key"],) if event.type in ("order.renewed", "restart.revert_requested") else ()
            self.machines.breakdowns.told_to_stop((*keys, *again), self.seconds)
            cure, beside = str(event.data.get("reason", "")).startswith("healing of "), bool(event.data.get("service"))
            if event.type == "instance.fence_requested":
                self.evidence.votes += voting_on(self.machines.vms, keys, self.kafka.voters())
            before = self.converger.view(self.uid)
            stops = (fence_of(self, before, key, cure=cure, beside=beside) for key in keys)
            fences = [stop for stop in stops if stop is not None]
            self.evidence.fences += [replace(f, beside=tuple(event.data.get("beside", ()))) for f in fences]

    def _look_around(self) -> None:
        """Counts ticks that begin at rest with the world as it was when the one before began."""
        view = self.view()
        self.had_work = has_work(view)
        scene = scene_of(self)
        at_rest = self.is_converged() and not self.is_held() and not self.ticks_fail() and self._is_quiet()
        self.calm.quiet_ticks = self.calm.quiet_ticks + 1 if at_rest and scene == self.calm.scene else 0
        self.calm.scene = scene
        self.calm.seen_after_ticks = ceil(LOOK_EVERY.total_seconds() / self.tick_s) if waits_for_a_look(self) else 0

    def _is_quiet(self) -> bool:
        return is_quiet(self)

    def kafka_hosts(self, broker: int) -> int:
        return sum(broker in p.replicas for p in self.kafka.partitions())

    def quorum_is_whole(self) -> bool:
        """Whether every controller that should run does."""
        expected = [i for i in self.view().controllers() if i.phase == "joined"]
        up = {p.document.node_id for vm in self.machines.vms.values() if vm.alive for p in vm.processes if p.up}
        in_hand = [i for i in self.view().controllers() if i.phase not in ("joined", "requested")]
        return not in_hand and all(i.service_id in up for i in expected)

    def _document(self, uid: str, key: str) -> Any:
        return document_told(self, uid, key)

    # --- the story --------------------------------------------------------------------------------------------

    def _tell(self) -> None:
        for recorded in self.store.read_all(self._told):
            self._told = recorded.position
            if recorded.stream != cluster_stream(self.uid):
                continue
            self.story.append(f"{self.seconds:6.0f} s  {recorded.type:28} {gist(recorded)}")
        sentence = self.sentence()
        if _NUMBERS.sub("#", sentence) != self._last_words:
            # The same sentence with another number is no news.
            self._last_words = _NUMBERS.sub("#", sentence)
            self.story.append(f"          {sentence}")
