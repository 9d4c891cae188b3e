"""A portal's own looks at Kafka, for what it shows: nothing is decided by them, and no tick waits for one."""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from datetime import datetime, timedelta

from controlplane.cluster.observed import agent_reports, disks, moves, replica_lag
from controlplane.cluster.observed.traffic import UNKNOWN, Traffic, TrafficWatch, counters_of
from controlplane.cluster.view import ClusterView
from controlplane.cluster.work_in_hand import has_work
from controlplane.converger.questions.moves.leaders import displaced_leaders
from controlplane.converger.tick.sources.brokers import has_brokers
from controlplane.fleet.ports import FoldedFleet
from controlplane.kafka.errors import KafkaFault
from controlplane.kafka.gateway import KafkaGateway
from controlplane.storage.latest_values import LatestStore, LatestValue, Renewal
from events.clock import Clock
from events.errors import EventsError
from events.ids import ClusterUid
from planner.observed import KafkaSnapshot

_log = logging.getLogger(__name__)

AT_WORK = timedelta(seconds=5)
AT_REST = timedelta(seconds=60)
"""Between two looks at a cluster with work in hand, and without: as often as the loop looks, and no more."""


@dataclass(frozen=True, slots=True)
class _Begun:
    """The last look that was begun: when, and at which version of the cluster's stream. A person's change is seen."""

    at: datetime
    version: int


class KafkaReadings:
    """`Polled`. A poll begins the looks that are due on threads of their own and waits for none. Thread-safe."""

    def __init__(
        self,
        fleet: FoldedFleet,
        kafka: Callable[[ClusterView], KafkaGateway],
        latest: LatestStore,
        clock: Clock,
        *,
        pool: Executor,
    ) -> None:
        self._fleet, self._kafka, self._latest, self._clock, self._pool = fleet, kafka, latest, clock, pool
        self._lock = threading.Lock()
        self._begun: dict[ClusterUid, _Begun] = {}
        self._running: set[ClusterUid] = set()
        self._snapshots: dict[ClusterUid, KafkaSnapshot] = {}
        self._watches: dict[ClusterUid, TrafficWatch] = {}
        self._behind = replica_lag.BehindWatch()
        self._moves = moves.MoveWatch(_ReadOnly(latest))

    def poll(self) -> None:
        for view in self._fleet.views():
            if not view.deleted and has_brokers(view) and self._begins(view):
                self._pool.submit(self._guarded, view)

    def look(self, view: ClusterView) -> None:
        """One look. Raises KafkaFault, StoreUnavailable."""
        snapshot = self._kafka(view).snapshot()
        reports = agent_reports.reports_by_key(self._latest.of_cluster(view.uid, agent_reports.AGENT_REPORT))
        counters = counters_of(view, {key: seen.report for key, seen in reports.items()})
        with self._lock:
            self._watches.setdefault(view.uid, TrafficWatch()).see(snapshot, counters)
            self._behind.see(view.uid, snapshot)
            self._moves.see(view.uid, snapshot, leaders_away=bool(displaced_leaders(snapshot)))
            self._snapshots[view.uid] = disks.with_volume_sizes(snapshot, view, reports)

    def last_snapshot(self, uid: ClusterUid) -> KafkaSnapshot | None:
        """Kafka's metadata as it was last read here, however old; None before the first look."""
        return self._snapshots.get(uid)

    def last_moves(self, uid: ClusterUid) -> moves.MoveProgress:
        """How the moves of the cluster have come on, those of the loop's looks before ours among them."""
        with self._lock:
            return self._moves.known(uid)

    def traffic(self, uid: ClusterUid) -> Traffic:
        """What the cluster writes and reads, by the looks here."""
        with self._lock:
            watch = self._watches.get(uid)
            return watch.traffic(self._clock()) if watch else UNKNOWN

    def behind(self, uid: ClusterUid) -> Mapping[replica_lag.Replica, datetime]:
        """Replicas out of sync, and since when they were seen so here."""
        with self._lock:
            return self._behind.since(uid)

    def _begins(self, view: ClusterView) -> bool:
        with self._lock:
            now, begun = self._clock(), self._begun.get(view.uid)
            every = AT_WORK if has_work(view) else AT_REST
            is_due = begun is None or now - begun.at >= every or begun.version != view.version
            if not is_due or view.uid in self._running:
                return False
            self._begun[view.uid] = _Begun(now, view.version)
            self._running.add(view.uid)
            return True

    def _guarded(self, view: ClusterView) -> None:
        try:
            self.look(view)
        except (KafkaFault, EventsError) as error:
            _log.info("Kafka of %s was not read: %s", view.name, error)
        except Exception:  # noqa: BLE001 - one that is poisoned must not stop the others
            _log.exception("Kafka of %s was not read", view.name)
        finally:
            with self._lock:
                self._running.discard(view.uid)


class _ReadOnly:
    """Latest values as a portal may use them: what the loop's own looks wrote is read and never written over."""

    def __init__(self, latest: LatestStore) -> None:
        self._latest = latest
        self.get, self.of_cluster, self.of_kind = latest.get, latest.of_cluster, latest.of_kind

    def put(self, observation: LatestValue) -> bool:
        """Nothing is kept."""
        return False

    def put_all(self, observations: Sequence[LatestValue]) -> int:
        """Nothing is kept."""
        return 0

    def renew_all(self, renewals: Sequence[Renewal]) -> int:
        """Nothing is renewed."""
        return 0
