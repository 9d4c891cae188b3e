"""The converger: one tick of every cluster, again and again. Level-triggered; hints only make a tick come sooner.

A cluster's tick never waits for a long act and never for another cluster: what goes wrong in one backs off alone.
"""

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial

from controlplane.cluster.fold import evolve
from controlplane.cluster.observed.moves import Known
from controlplane.cluster.observed.replica_lag import Replica
from controlplane.cluster.observed.traffic import Traffic
from controlplane.cluster.view import ClusterView, empty_view
from controlplane.cluster.work_in_hand import has_work
from controlplane.converger.conditions.converged import with_converged
from controlplane.converger.conditions.ticks import tick_failing, tick_works
from controlplane.converger.ladder.decide import decide
from controlplane.converger.questions.stages import stage_words
from controlplane.converger.questions.windows import waits_its_turn, window_words
from controlplane.converger.situation.decision import Verdict
from controlplane.converger.situation.effects import CancelMoves, StartBalancing, StartPlanning, StartRun
from controlplane.converger.situation.ports import Ports
from controlplane.converger.situation.situation import LOSS_GRACE_S, Situation
from controlplane.converger.steps.health.heartbeats import places_heartbeats
from controlplane.converger.steps.housekeeping import asks_leaders_back
from controlplane.converger.tick.act import carry_out
from controlplane.converger.tick.failing_ticks import FailingTicks, Poisoned
from controlplane.converger.tick.fleet_brake import FleetBrake, is_counted
from controlplane.converger.tick.observe import Observer
from controlplane.converger.tick.rounds import round_of
from controlplane.converger.tick.turns import Turns
from controlplane.fleet.freezes.state import FreezeKeeper
from controlplane.fleet.images.state import ImageKeeper
from controlplane.fleet.networks.reconciler import NetworkKeeper
from controlplane.fleet.spec_order import SpecOrderKeeper
from controlplane.kafka.errors import KafkaFault
from controlplane.storage.lease import LostLeadership
from controlplane.storage.log_context import logged, tell_event
from controlplane.storage.streams import cluster_stream, cluster_uid_of
from events import facts
from events.codec import encode
from events.envelope import NewEvent, Origin, Recorded
from events.errors import EventsError, StreamConflict
from events.ids import ClusterUid, derived_id
from planner.observed import KafkaSnapshot
from providers.errors import ProviderError

_log = logging.getLogger(__name__)

MAX_DECISIONS = 20
"""Decisions one tick takes in a row while each records something."""

MAX_IN_A_ROW = 4
"""Ticks of one cluster without a pause while each moves something: what Kafka was asked for is mostly there at once."""


@dataclass(frozen=True, slots=True)
class Said:
    """The sentence a cluster's last tick ended in. `until`: when what it waits for is tried again by itself, where that
    is known."""

    at: datetime
    sentence: str
    until: datetime | None = None


@dataclass(slots=True)
class TickReport:
    """What one tick of the fleet did."""

    clusters: int = 0
    events: int = 0
    effects: int = 0
    jobs: int = 0
    """Effects that are long acts: they ring when they have ended."""
    failures: int = 0
    doing: str = ""
    """What the tick of a cluster is about just now, to follow "while"."""

    @property
    def moved(self) -> bool:
        return bool(self.events or self.effects) and not self.failures


@dataclass(slots=True)
class _Fold:
    """The views as of a global position."""

    position: int = 0
    views: dict[ClusterUid, ClusterView] = field(default_factory=dict)


class Converger:
    """Ticks clusters. `workers` threads serve clusters with work in hand; 0 ticks all in the caller's thread."""

    def __init__(
        self,
        ports: Ports,
        brake: FleetBrake | None = None,
        *,
        workers: int = 0,
        rest_s: float = 0.0,
        loss_grace_s: float = LOSS_GRACE_S,
        wake: Callable[[str], None] | None = None,
        networks: NetworkKeeper | None = None,
        images: ImageKeeper | None = None,
        freezes: FreezeKeeper | None = None,
        order: SpecOrderKeeper | None = None,
        cost_tags: tuple[str, ...] = (),
    ) -> None:
        """`rest_s`: how long a cluster without work is left alone; `wake` is told who moved and wants the next tick;
        `networks` looks after the networks Kedge makes, where it makes any; `images` keeps the image catalogue;
        `freezes` keeps those of the settings and those people declare; `order` what stages have in hand.
        `cost_tags`: labels, by key, that are put on what is made in clouds.
        """
        self._ports = ports
        self._rest = timedelta(seconds=rest_s)
        self._loss_grace_s, self._cost_tags = loss_grace_s, cost_tags
        self._wake = wake
        self._networks = networks
        self._freezes = freezes or FreezeKeeper()
        self._brake = brake or FleetBrake()
        self._images = images or ImageKeeper()
        self._order = order or SpecOrderKeeper()
        self._observer = Observer(ports, in_rounds=rest_s > 0)
        self._fold = _Fold()
        self._lock = threading.RLock()
        self._said: dict[ClusterUid, Said] = {}
        self._failing = FailingTicks()
        self._resting: dict[ClusterUid, int] = {}
        """Version of the stream at which its last tick waited for a window, or for earlier stages."""
        self._busy: dict[ClusterUid, Future[TickReport]] = {}
        self._turns = Turns()
        self._born = ports.clock()
        self._tells = False
        """Whether what is recorded from now on is written to the log, too."""
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="tick") if workers else None
        # Brokers that do not answer take their time to say so: looks at clusters at rest have threads of their own.
        self._looks = ThreadPoolExecutor(workers, thread_name_prefix="look") if workers else None

    def tick(self, *, only: Collection[str] | None = None) -> TickReport:
        """One tick of every cluster that is due, or of those among `only` (uids; unknown ones are left out).

        Raises LostLeadership, EventsError when the store is away.
        """
        self._leads()
        self.catch_up()
        total = TickReport()
        self._look_after_networks()
        working = [v for v in self.views() if not v.deleted]
        self._brake.look_at(working)
        for view in working:
            if only is not None and view.uid not in only:
                continue
            _add(total, self._begin(view, asked=only is not None))
        return total

    def _begin(self, view: ClusterView, *, asked: bool) -> TickReport:
        """Ticks it, or has a thread do so, where it is due. Whatever goes wrong stays with this cluster."""
        report = TickReport(doing="seeing whether it has work")
        try:
            busy = has_work(view)
            # Who waits for its turn waits for hours: nothing of it is in a hurry until something is recorded.
            rests = self._resting.get(view.uid) == view.version
            if not self._is_due(view, busy=busy and not rests, asked=asked):
                return report
            if self._pool is not None and busy:
                self._spawn(self._pool, view.uid)
            elif self._looks is not None and self._observer.would_dial(view):
                self._spawn(self._looks, view.uid)
            else:
                report = self.tick_cluster(view.uid)
        except (LostLeadership, EventsError):
            raise
        except Exception as error:  # noqa: BLE001 - a poisoned cluster must not stop the others
            if not self._failing.rests(view.uid, self._ports.clock()):
                self._said[view.uid] = self._failed(view.uid, report, error)
        return report

    def _leads(self) -> None:
        """Of the servers that fold the log, one also tells it. Raises LostLeadership."""
        self._tells = False
        self._ports.epoch()
        self._tells = True

    def _look_after_networks(self) -> None:
        """Whatever goes wrong there stays there: clusters whose network stands need none of it."""
        if self._networks is None:
            return
        try:
            self._networks.tick(self.views())
        except (LostLeadership, EventsError):
            raise
        except Exception:  # noqa: BLE001 - clusters go on without
            _log.exception("networks could not be looked after")

    def settle(self, timeout_s: float) -> TickReport:
        """Waits for ticks that run on threads; their reports, added up."""
        total = TickReport()
        done, _ = wait(list(self._busy.values()), timeout=timeout_s)
        for future in done:
            _add(total, future.result())
        return total

    def tick_cluster(self, uid: ClusterUid) -> TickReport:
        """One tick of one cluster. Whatever goes wrong stays with this cluster, LostLeadership excepted."""
        report = self._tick(uid)
        if self._wake is not None and report.moved:
            self._wake(uid)
        return report

    def catch_up(self) -> None:
        """Folds what was recorded since the last look, by whomever."""
        with self._lock:
            while True:
                page = self._ports.store.read_all(self._fold.position, limit=1000)
                self._take_in(page)
                if len(page) < 1000:
                    return

    def views(self) -> list[ClusterView]:
        """All clusters as of the last fold, by name."""
        with self._lock:
            return sorted(self._fold.views.values(), key=lambda v: (v.name, v.uid))

    def view(self, uid: ClusterUid) -> ClusterView | None:
        with self._lock:
            return self._fold.views.get(uid)

    def brake_on(self, view: ClusterView) -> str:
        """What the fleet's brake would say to a roll of this cluster, in words."""
        return self._brake.words(view)

    def window_on(self, view: ClusterView) -> str:
        """Whether anything voluntary may begin on this cluster now, in words; "" where nothing ever waits."""
        now = self._ports.clock()
        window = window_words(view, self._freezes.left(now), now)
        return "; ".join(w for w in (window, stage_words(view, self._order.waits(view, now))) if w)

    def said(self, uid: ClusterUid) -> Said | None:
        """What the last tick said of the cluster."""
        return self._said.get(uid)

    def sentence_on(self, view: ClusterView) -> str:
        """What the last tick said of the cluster, "" before the first."""
        said = self._said.get(view.uid)
        return said.sentence if said is not None else ""

    def poisoned(self) -> list[Poisoned]:
        """Clusters whose last tick of this server failed, the longest in trouble first."""
        return self._failing.poisoned()

    @property
    def position(self) -> int:
        """Up to which position of the log the views are folded."""
        return self._fold.position

    def last_moves(self, uid: ClusterUid) -> Known:
        """How the moves of the cluster have come on."""
        return self._observer.last_moves(uid)

    def behind(self, uid: ClusterUid) -> Mapping[Replica, datetime]:
        """Replicas out of sync, and since when this server has seen them so."""
        return self._observer.behind(uid)

    def last_snapshot(self, uid: ClusterUid) -> KafkaSnapshot | None:
        """Kafka's metadata as it was last read for the cluster."""
        return self._observer.last_snapshot(uid)

    def traffic(self, uid: ClusterUid) -> Traffic:
        """What the cluster writes and reads, as far as this server has seen."""
        return self._observer.traffic(uid)

    def close(self) -> None:
        """Waits for running ticks and ends the threads."""
        for pool in (self._pool, self._looks):
            if pool is not None:
                pool.shutdown(wait=True, cancel_futures=True)

    def _tick(self, uid: ClusterUid, *, again: bool = False) -> TickReport:
        report = TickReport(clusters=1)
        view = self.view(uid)
        with logged(cluster=view.name if view else "", cluster_uid=uid):
            return self._guarded(uid, report, again=again)

    def _guarded(self, uid: ClusterUid, report: TickReport, *, again: bool) -> TickReport:
        try:
            if again:
                self.catch_up()
            said = self._converge(uid, report)
            report.doing = "recording that its ticks succeed again"
            report.events += self._record_ticks(uid, tick_works)
            self._failing.succeeded(uid)
        except LostLeadership:
            raise
        except Exception as error:  # noqa: BLE001 - a poisoned cluster must not stop the others
            said = self._failed(uid, report, error)
        self._said[uid] = said
        return report

    def _converge(self, uid: ClusterUid, report: TickReport) -> Said:
        view = self.view(uid)
        if view is None:
            return Said(self._ports.clock(), "unknown cluster")
        report.doing = "looking at it"
        seen = self._observer.observe(view)
        for _ in range(MAX_DECISIONS):
            report.doing = "deciding what to do"
            now, allowance = self._ports.clock(), self._brake.allowance(view)
            image = self._images.offer(view, now)
            freezes, order = self._freezes.left(now), self._order.waits(view, now)
            situation = Situation(
                view, seen, now, allowance, self._loss_grace_s, freezes, image, order, self._cost_tags
            )
            verdict = decide(situation)
            if is_counted(verdict):
                verdict, view, events = self._take(situation)
            else:
                view, events = self._record(view, verdict)
            report.events += events
            if not verdict.events or verdict.effects or verdict.wait:
                # Condition changes end the tick, with the effects they came with.
                self._brake.hear(view, verdict.wait)
                self._resting[uid] = view.version if waits_its_turn(verdict) else -1
                acting = situation if view is situation.view else replace(situation, view=view)
                sentence = self._act(acting, verdict, report)
                return Said(self._ports.clock(), sentence, verdict.wait.until if verdict.wait else None)
        return Said(self._ports.clock(), verdict.sentence)

    def _act(self, situation: Situation, verdict: Verdict, report: TickReport) -> str:
        refusals = []
        if verdict.effects:
            self._observer.look_again(situation.view.uid)
        if asks_leaders_back(verdict):
            self._observer.leaders_asked_back(situation.view.uid)
        if places_heartbeats(verdict):
            self._observer.heartbeats_asked(situation.view.uid)
        for effect in verdict.effects:
            report.effects += 1
            report.doing = f"carrying out {type(effect).__name__}"
            report.jobs += isinstance(effect, StartRun | StartPlanning | StartBalancing)
            refused = carry_out(effect, situation, self._ports)
            if refused:
                refusals.append(refused)
            if isinstance(effect, CancelMoves):
                self._observer.moves_taken_back(situation.view.uid, effect.partitions, refused)
        if refusals and asks_leaders_back(verdict):
            self._observer.election_refused(situation.view.uid, refusals[0])
        return "; ".join([verdict.sentence, *refusals])

    def _take(self, situation: Situation) -> tuple[Verdict, ClusterView, int]:
        """Decides again and records while no other cluster can take what the fleet's brake counts."""
        with self._brake.taking:
            verdict = decide(replace(situation, allowance=self._brake.allowance(situation.view)))
            view, events = self._record(situation.view, verdict)
            self._brake.note(view)
        return verdict, view, events

    def _record(self, view: ClusterView, verdict: Verdict) -> tuple[ClusterView, int]:
        """The view after the verdict's events, and how many they are."""
        if not verdict.events:
            return view, 0
        recorded = self._append(view, verdict)
        return self._advance(view, recorded), len(recorded)

    def _append(self, view: ClusterView, verdict: Verdict) -> list[Recorded]:
        epoch = self._ports.epoch()
        stream = cluster_stream(view.uid)
        origin = Origin(actor="converger", epoch=epoch)
        events = new_events(stream, view.version, verdict.events)
        return self._ports.store.append(stream, events, expected_version=view.version, origin=origin)

    def _advance(self, view: ClusterView, recorded: Iterable[Recorded]) -> ClusterView:
        """The view after our own events, at once; `catch_up` will see them as known."""
        for event in recorded:
            view = evolve(view, event)
        with self._lock:
            current = self._fold.views.get(view.uid)
            if current is None or current.version < view.version:
                self._fold.views[view.uid] = view
                self._images.note(view)
                self._order.note(view)
        return view

    def _take_in(self, page: Iterable[Recorded]) -> None:
        for recorded in page:
            self._fold_in(recorded)
            if self._tells and recorded.recorded_at > self._born:
                uid = cluster_uid_of(recorded.stream)
                tell_event(_log, recorded, self._fold.views[uid].name if uid else "")

    def _fold_in(self, recorded: Recorded) -> None:
        self._fold.position = recorded.position
        uid = cluster_uid_of(recorded.stream)
        if uid is None:
            self._brake.take_in(recorded)
            self._images.take_in(recorded)
            if self._freezes.take_in(recorded):
                self._resting.clear()  # who waited may go on
            if self._networks is not None:
                self._networks.take_in(recorded)
            return
        view = self._fold.views.get(uid) or empty_view(uid)
        if recorded.version > view.version:
            view = evolve(view, recorded)
            self._fold.views[uid] = view
            self._images.note(view)
            self._order.note(view)
        self._brake.take_in(recorded)

    def _is_due(self, view: ClusterView, *, busy: bool, asked: bool) -> bool:
        if self._turns.is_running(view.uid, asked=asked):
            return False
        said = self._said.get(view.uid)
        rests = said is not None and not busy and self._rests(view.uid, said.at)
        # Of a VM that is taken back in half a minute the next round would hear late.
        if rests and not (asked and self._observer.hears_of(view)):
            return False
        return not self._failing.rests(view.uid, self._ports.clock())

    def _spawn(self, pool: ThreadPoolExecutor, uid: ClusterUid) -> None:
        self._turns.begin(uid)
        self._busy[uid] = pool.submit(self._take_turn, uid)

    def _take_turn(self, uid: ClusterUid) -> TickReport:
        """Ticks, again while that moves something, and asks for the next tick when there is more to see."""
        total, last = TickReport(), TickReport()
        try:
            for n in range(MAX_IN_A_ROW):
                last = self._tick(uid, again=n > 0)
                _add(total, last)
                if not last.moved or last.jobs:
                    break
        finally:
            asked = self._turns.end(uid)
        if self._wake is not None and (asked or last.moved):
            self._wake(uid)
        return replace(total, clusters=1)

    def _rests(self, uid: ClusterUid, since: datetime) -> bool:
        if not self._rest:
            return False
        return round_of(uid, self._ports.clock(), self._rest) == round_of(uid, since, self._rest)

    def _failed(self, uid: ClusterUid, report: TickReport, error: Exception) -> Said:
        """Backs off, and tells people of what does not pass by itself."""
        report.failures += 1
        now = self._ports.clock()
        if isinstance(error, StreamConflict):
            # Somebody declared something meanwhile: read it and decide again at the next tick.
            return Said(now, str(error))
        if not isinstance(error, KafkaFault | ProviderError | EventsError):
            _log.error("tick of cluster %s failed while %s", uid, report.doing, exc_info=error)
        self._brake.forget(uid)
        failures, pause_s = self._failing.failed(uid, error, report.doing, now)
        try:
            report.events += self._record_ticks(uid, partial(tick_failing, failed=failures, now=now))
        except LostLeadership:
            raise
        except Exception as unrecorded:  # noqa: BLE001 - told by `poisoned` then, and recorded when that is possible
            _log.warning("that ticks of cluster %s fail could not be recorded: %s", uid, unrecorded)
        row = f"failure {failures.count} in a row, next look in {pause_s:.0f} s"
        return Said(now, f"{failures.error} ({row})")

    def _record_ticks(self, uid: ClusterUid, told: Callable[[ClusterView], facts.ConditionChanged | None]) -> int:
        """Records that ticks fail, or do not any more, where `told` says so. Returns how many events that took."""
        view = self.view(uid)
        changed = told(view) if view is not None else None
        if view is None or changed is None:
            return 0
        return self._record(view, Verdict("", with_converged(view, changed)))[1]


def new_events(stream: str, version: int, facts: Iterable[object]) -> list[NewEvent]:
    """Facts as events to append after `version`. The same decision gets the same ids, so a retry is recognised."""
    listed = list(facts)
    content = repr(listed)
    return [encode(f, derived_id("event", stream, str(version), str(n), content)) for n, f in enumerate(listed)]


def _add(total: TickReport, part: TickReport) -> None:
    total.clusters += part.clusters
    total.events += part.events
    total.effects += part.effects
    total.jobs += part.jobs
    total.failures += part.failures
