"""The converger: one tick of every cluster, again and again. Level-triggered; hints only make a tick come sooner.

A cluster's tick never waits for a long act and never for another cluster: what goes wrong in one backs off alone.
"""

import logging
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from datetime import datetime, timedelta

from controlplane.cluster.observed.moves import MoveProgress
from controlplane.cluster.observed.replica_lag import Replica
from controlplane.cluster.observed.traffic import Traffic
from controlplane.cluster.view import ClusterView
from controlplane.cluster.work_in_hand import has_work
from controlplane.converger.questions.stages import stage_words
from controlplane.converger.questions.windows import window_words
from controlplane.converger.situation.ports import Ports
from controlplane.converger.situation.situation import LOSS_GRACE_S
from controlplane.converger.tick import cluster_tick, failing_ticks, fleet_brake, fold_cache, observe, pacing
from controlplane.converger.tick.report import Said, TickReport, add_to
from controlplane.fleet.failovers.held_rolls import all_freezes
from controlplane.fleet.failovers.state import PairCache
from controlplane.fleet.freezes.state import FreezeCache
from controlplane.fleet.images.state import ImageCache
from controlplane.fleet.networks.reconciler import NetworkReconciler
from controlplane.fleet.spec_order import SpecOrderCache
from controlplane.storage.lease import LostLeadership
from controlplane.storage.log_context import logged
from controlplane.storage.streams import cluster_uid_of
from events.envelope import Recorded
from events.errors import EventsError
from events.ids import ClusterUid
from planner.observed import KafkaSnapshot

_log = logging.getLogger(__name__)

MAX_IN_A_ROW = 4
"""Ticks of one cluster without a pause while each moves something: what Kafka was asked for is mostly there at once."""


class Converger:
    """Ticks clusters. `workers` threads serve clusters with work in hand; 0 ticks all in the caller's thread."""

    def __init__(
        self,
        ports: Ports,
        brake: fleet_brake.FleetBrake | None = None,
        *,
        workers: int = 0,
        rest_s: float = 0.0,
        loss_grace_s: float = LOSS_GRACE_S,
        wake: Callable[[str], None] | None = None,
        networks: NetworkReconciler | None = None,
        images: ImageCache | None = None,
        freezes: FreezeCache | None = None,
        pairs: PairCache | None = None,
        order: SpecOrderCache | None = None,
        cost_tags: tuple[str, ...] = (),
        why_not_spark: Callable[[str], str | None] = lambda _: None,
        waits_for_spark: Callable[[], str] = lambda: "",
    ) -> None:
        """`rest_s`: how long a cluster without work is left alone; `wake` is told who moved and wants the next tick;
        `networks` looks after the networks Kedge makes, where it makes any; `images` keeps the image catalogue;
        `freezes` keeps those of the settings and those people declare, `pairs` pairs of clusters; `order` what stages
        have in hand.
        `cost_tags`: labels, by key, that are put on what is made in clouds. `why_not_spark` (by
        a cluster's uid), `waits_for_spark`: as in `Situation`.
        """
        self._ports = ports
        self._wake = wake
        self._networks = networks
        self._freezes = freezes or FreezeCache()
        self._pairs = pairs or PairCache()
        self._brake = brake or fleet_brake.FleetBrake()
        self._images = images or ImageCache()
        self._order = order or SpecOrderCache()
        self._observer = observe.Observer(ports, in_rounds=rest_s > 0)
        self._fold = fold_cache.FoldCache(ports.store, born=ports.clock(), on_view=self._note, on_event=self._hear)
        self._pacing = pacing.Pacing(ports.clock, timedelta(seconds=rest_s))
        self._cluster_tick = cluster_tick.ClusterTick(
            ports,
            self._fold,
            self._observer,
            self._pacing,
            self._brake,
            self._images,
            self._freezes,
            self._pairs,
            self._order,
            loss_grace_s,
            cost_tags,
            why_not_spark,
            waits_for_spark,
        )
        self._changed: set[ClusterUid] = set()
        """What the brake has not counted since the last tick of all. Noted while the fold is locked, and counted after
        that: whoever takes a place from the brake folds while it holds it."""
        self._said: dict[ClusterUid, Said] = {}
        self._busy: dict[ClusterUid, Future[TickReport]] = {}
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="tick") if workers else None
        # Brokers that do not answer take their time to say so: looks at clusters at rest have threads of their own.
        self._observe_pool = ThreadPoolExecutor(workers, thread_name_prefix="look") if workers else None

    def tick(self, *, only: Collection[str] | None = None) -> TickReport:
        """One tick of every cluster that is due, or of those among `only` (uids; unknown ones are left out).

        Raises LostLeadership, EventsError when the store is away.
        """
        self._leads()
        self.catch_up()
        total = TickReport()
        for view in self._whole_fleet() if only is None else self._named(only):
            add_to(total, self._begin(view, asked=only is not None))
        return total

    def _whole_fleet(self) -> list[ClusterView]:
        """Living clusters, counted by the brake; what they share is looked after first."""
        self._look_after_networks()
        self._changed.clear()
        living = [v for v in self.views() if not v.deleted]
        self._brake.look_at(living)
        return living

    def _named(self, uids: Collection[str]) -> list[ClusterView]:
        """Those of them that live. It costs nothing that grows with the fleet: the brake counts what has changed."""
        while self._changed:
            changed = self.view(self._changed.pop())
            if changed is not None and not changed.deleted:
                self._brake.note(changed)
        found = [view for uid in uids if (view := self.view(ClusterUid(uid))) is not None and not view.deleted]
        return sorted(found, key=lambda view: (view.name, view.uid))

    def _begin(self, view: ClusterView, *, asked: bool) -> TickReport:
        """Ticks it, or has a thread do so, where it is due. Whatever goes wrong stays with this cluster."""
        report = TickReport(doing="seeing whether it has work")
        try:
            said = self._said.get(view.uid)
            said_at = said.at if said is not None else None
            if not self._pacing.is_due(view, said_at, asked=asked, hears_of=self._observer.hears_of):
                return report
            if self._pool is not None and has_work(view):
                self._spawn(self._pool, view.uid)
            elif self._observe_pool is not None and self._observer.would_dial(view):
                self._spawn(self._observe_pool, view.uid)
            else:
                report = self.tick_cluster(view.uid)
        except (LostLeadership, EventsError):
            raise
        except Exception as error:  # noqa: BLE001 - a poisoned cluster must not stop the others
            if not self._pacing.failing.rests(view.uid, self._ports.clock()):
                self._said[view.uid] = self._cluster_tick.failed(view.uid, report, error)
        return report

    def _leads(self) -> None:
        """Of the servers that fold the log, one also tells it. Raises LostLeadership."""
        self._fold.tells = False
        self._ports.epoch()
        self._fold.tells = True

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
            add_to(total, future.result())
        return total

    def tick_cluster(self, uid: ClusterUid) -> TickReport:
        """One tick of one cluster. Whatever goes wrong stays with this cluster, LostLeadership excepted."""
        report = self._tick(uid)
        if self._wake is not None and report.moved:
            self._wake(uid)
        return report

    def catch_up(self) -> None:
        """Folds what was recorded since the last look, by whomever."""
        self._fold.catch_up()

    def views(self) -> list[ClusterView]:
        """All clusters as of the last fold, by name."""
        return self._fold.all()

    def view(self, uid: ClusterUid) -> ClusterView | None:
        return self._fold.of(uid)

    def brake_on(self, view: ClusterView) -> str:
        """What the fleet's brake would say to a roll of this cluster, in words."""
        return self._brake.words(view)

    def window_on(self, view: ClusterView) -> str:
        """Whether anything voluntary may begin on this cluster now, in words; "" where nothing ever waits."""
        now = self._ports.clock()
        window = window_words(view, all_freezes(self._freezes, self._pairs, view, now), now)
        return "; ".join(w for w in (window, stage_words(view, self._order.waits(view, now))) if w)

    def said(self, uid: ClusterUid) -> Said | None:
        """What the last tick said of the cluster."""
        return self._said.get(uid)

    def sentence_on(self, view: ClusterView) -> str:
        """What the last tick said of the cluster, "" before the first."""
        said = self._said.get(view.uid)
        return said.sentence if said is not None else ""

    def poisoned(self) -> list[failing_ticks.Poisoned]:
        """Clusters whose last tick of this server failed, the longest in trouble first."""
        return self._pacing.failing.poisoned()

    @property
    def position(self) -> int:
        """Up to which position of the log the views are folded."""
        return self._fold.position

    def last_moves(self, uid: ClusterUid) -> MoveProgress:
        """How the moves of the cluster have come on."""
        return self._observer.last_moves(uid)

    def behind(self, uid: ClusterUid) -> Mapping[Replica, datetime]:
        """Replicas out of sync, and since when this server has seen them so."""
        return self._observer.behind(uid)

    def last_snapshot(self, uid: ClusterUid) -> KafkaSnapshot | None:
        """Kafka's metadata as it was last read for the cluster."""
        return self._observer.last_snapshot(uid)

    def look_again(self, uid: ClusterUid) -> None:
        """Somebody waits for what its brokers say: the next tick asks them."""
        self._observer.look_again(uid)

    def traffic(self, uid: ClusterUid) -> Traffic:
        """What the cluster writes and reads, as far as this server has seen."""
        return self._observer.traffic(uid)

    def close(self) -> None:
        """Waits for running ticks and ends the threads."""
        for pool in (self._pool, self._observe_pool):
            if pool is not None:
                pool.shutdown(wait=True, cancel_futures=True)

    def _tick(self, uid: ClusterUid, *, again: bool = False) -> TickReport:
        report = TickReport(clusters=1)
        view = self.view(uid)
        with logged(cluster=view.name if view else "", cluster_uid=uid):
            self._said[uid] = self._cluster_tick.run(uid, report, again=again)
        return report

    def _note(self, view: ClusterView) -> None:
        """A view is new."""
        self._changed.add(view.uid)
        self._images.note(view)
        self._order.note(view)

    def _hear(self, recorded: Recorded) -> None:
        """An event is folded, of a cluster's stream or of the fleet's."""
        self._brake.take_in(recorded)
        if cluster_uid_of(recorded.stream) is not None:
            return
        self._images.take_in(recorded)
        if self._pairs.take_in(recorded):
            self._pacing.let_go_on()
        if self._freezes.take_in(recorded):
            self._pacing.let_go_on()
        if self._networks is not None:
            self._networks.take_in(recorded)

    def _spawn(self, pool: ThreadPoolExecutor, uid: ClusterUid) -> None:
        self._pacing.turns.begin(uid)
        self._busy[uid] = pool.submit(self._take_turn, uid)

    def _take_turn(self, uid: ClusterUid) -> TickReport:
        """Ticks, again while that moves something, and asks for the next tick when there is more to see."""
        total, last = TickReport(), TickReport()
        try:
            for n in range(MAX_IN_A_ROW):
                last = self._tick(uid, again=n > 0)
                add_to(total, last)
                if not last.moved or last.jobs:
                    break
        finally:
            asked = self._pacing.turns.end(uid)
        if self._wake is not None and (asked or last.moved):
            self._wake(uid)
        return replace(total, clusters=1)
