"""Kafka's metadata and what follows from it, look by look: traffic, replicas out of sync, moves, health, placement."""

from collections.abc import Callable, Mapping
from datetime import timedelta

from controlplane.cluster.external_brokers import external_addresses
from controlplane.cluster.observed.agent_reports import ReportSeen
from controlplane.cluster.observed.broker_loads import NO_LOADS, LoadsSeen, LoadWatch
from controlplane.cluster.observed.disks import with_volume_sizes
from controlplane.cluster.observed.health import WELL, HealthSeen
from controlplane.cluster.observed.moves import MoveProgress, MoveWatch
from controlplane.cluster.observed.replica_lag import BehindWatch
from controlplane.cluster.observed.traffic import UNKNOWN, Traffic, TrafficWatch, counters_of
from controlplane.cluster.offline_brokers import given_up
from controlplane.cluster.view import ClusterView
from controlplane.cluster.work_in_hand import has_work
from controlplane.converger.questions.health.broken_down import exits_of
from controlplane.converger.questions.moves.leaders import displaced_leaders
from controlplane.converger.questions.moves.placement_work import names_unknown_brokers, placement_of
from controlplane.converger.situation.placement import PlacementSeen
from controlplane.converger.situation.ports import Ports
from controlplane.converger.tick.health_watch import HealthWatch
from controlplane.converger.tick.rounds import round_of
from controlplane.converger.tick.sources.agents import AgentsReader
from controlplane.kafka.errors import KafkaFault
from planner.observed import KafkaSnapshot

LOOK_EVERY = timedelta(seconds=60)
"""How often a converged cluster's brokers are asked how they are."""


class BrokersReader:
    """Dials brokers where work is in hand, where something seems wrong and once in a while; keeps the last look."""

    def __init__(self, ports: Ports, agents: AgentsReader, *, in_rounds: bool) -> None:
        self._ports, self._agents, self._in_rounds = ports, agents, in_rounds
        self.snapshots: dict[str, KafkaSnapshot] = {}
        self.moves = MoveWatch(ports.latest)
        self.health = HealthWatch()
        self.replica_lag = BehindWatch()
        self._acted: set[str] = set()
        self._traffic: dict[str, TrafficWatch] = {}
        self._loads: dict[str, LoadWatch] = {}
        self._placements: dict[str, tuple[KafkaSnapshot, ClusterView, PlacementSeen]] = {}

    def read(
        self, view: ClusterView, missing: dict[str, str], heard: Callable[[], Mapping[str, ReportSeen]]
    ) -> KafkaSnapshot | None:
        """The metadata, read anew where that is due. `heard` reads the agents' reports."""
        if not has_brokers(view):
            missing["kafka"] = "no broker has been started yet"
            return None
        known = self.snapshots.get(view.uid)
        if known is not None and not self._is_due(view, known):
            return known
        try:
            read = self._ports.kafka(view).snapshot()
        except KafkaFault as error:
            missing["kafka"] = str(error)
            return None
        # Whoever shows it later has no reports at hand, and at rest none are read here but at such a look.
        fresh = with_volume_sizes(read, view, heard())
        self.snapshots[view.uid] = fresh
        self._acted.discard(view.uid)
        return fresh

    def take_in(self, view: ClusterView, kafka: KafkaSnapshot, reports: Mapping[str, ReportSeen]) -> None:
        """Goes on counting what is told from look to look."""
        counters = counters_of(view, {key: seen.report for key, seen in reports.items()})
        self._traffic.setdefault(view.uid, TrafficWatch()).see(kafka, counters)
        self.replica_lag.see(view.uid, kafka)

    def loads(self, view: ClusterView, kafka: KafkaSnapshot | None, reports: Mapping[str, ReportSeen]) -> LoadsSeen:
        """What clients of the brokers feel. Looked at while work is in hand alone: at rest nothing is slowed."""
        if kafka is None or not has_work(view):
            self._loads.pop(view.uid, None)
            return NO_LOADS
        return self._loads.setdefault(view.uid, LoadWatch()).see(view, kafka, reports, self._ports.clock())

    def moves_of(self, view: ClusterView, kafka: KafkaSnapshot | None) -> MoveProgress:
        """How running moves have come on."""
        away = bool(displaced_leaders(kafka)) if kafka is not None else False
        return MoveProgress() if kafka is None else self.moves.see(view.uid, kafka, leaders_away=away)

    def health_of(
        self, view: ClusterView, kafka: KafkaSnapshot | None, reports: Mapping[str, ReportSeen]
    ) -> HealthSeen:
        """Since when something has been wrong, by the looks so far."""
        if kafka is None:
            return WELL
        seen, now = self.health.see(view, kafka, working=has_work(view)), self._ports.clock()
        return self.health.hear(view.uid, exits_of(view, reports, now), now) if seen.away else seen

    def placement(self, view: ClusterView, kafka: KafkaSnapshot | None) -> PlacementSeen | None:
        """Once for each look at Kafka: a tick between two looks costs a comparison. While something is in hand only
        where replicas seem to be lost, which nothing of it waits for to pass by itself."""
        if kafka is None or not view.roll.converged:
            return None
        if has_work(view) and not names_unknown_brokers(kafka) and not given_up(view, kafka):
            return None
        known = self._placements.get(view.uid)
        if known is None or known[0] is not kafka or known[1] is not view:
            known = self._placements[view.uid] = kafka, view, placement_of(view, kafka)
        return known[2]

    def traffic(self, uid: str) -> Traffic:
        """What the cluster writes and reads, as far as the looks at it tell."""
        watch = self._traffic.get(uid)
        return watch.traffic(self._ports.clock()) if watch else UNKNOWN

    def look_again(self, uid: str) -> None:
        """Something was done to the cluster: what is known of it is old now."""
        self._acted.add(uid)

    def would_dial(self, view: ClusterView) -> bool:
        """Whether the next look at the cluster asks its brokers."""
        if not has_brokers(view):
            return False
        known = self.snapshots.get(view.uid)
        return known is None or self._is_due(view, known)

    def is_suspect(self, view: ClusterView) -> bool:
        """Whether agents or the last looks say that something is wrong in it."""
        return self._agents.is_unhealthy(view.uid) or self.health.is_suspicious(view.uid)

    def _is_due(self, view: ClusterView, known: KafkaSnapshot) -> bool:
        now = self._ports.clock()
        if self._in_rounds:
            is_due = round_of(view.uid, now, LOOK_EVERY) != round_of(view.uid, known.at, LOOK_EVERY)
        else:
            is_due = now - known.at >= LOOK_EVERY
        is_suspect = self.is_suspect(view)
        return has_work(view) or view.uid in self._acted or is_due or is_suspect


def has_brokers(view: ClusterView) -> bool:
    """Whether there are any to ask yet."""
    if view.in_zookeeper_mode and not view.quorum.cluster_id_fixed:
        return False
    if view.quorum.founding is not None and any(i.address for i in view.brokers()):
        return True
    return bool(external_addresses(view))
