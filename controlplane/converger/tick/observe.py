"""Joins what one tick sees of one cluster, and no more than it needs. A reader for each source is in `sources/`."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import cache

from controlplane.cluster.observed.moves import MoveProgress
from controlplane.cluster.observed.replica_lag import Replica
from controlplane.cluster.observed.traffic import UNKNOWN, Traffic
from controlplane.cluster.view import ClusterView
from controlplane.cluster.work_in_hand import has_work
from controlplane.converger.conditions.certificates import CertificateWatch
from controlplane.converger.conditions.overlay import OverlayWatch
from controlplane.converger.conditions.own_authorities import OwnAuthorityWatch
from controlplane.converger.conditions.packet_filters import FilterWatch
from controlplane.converger.situation.observation import AccessSeen, Observation
from controlplane.converger.situation.ports import Ports
from controlplane.converger.tick.read_plans import PlansReader
from controlplane.converger.tick.sources.agents import AgentsReader
from controlplane.converger.tick.sources.background import BackgroundReader
from controlplane.converger.tick.sources.brokers import BrokersReader
from controlplane.converger.tick.sources.client_quotas import ClientQuotasReader
from controlplane.converger.tick.sources.clouds import clouds_of, inventory_of
from controlplane.converger.tick.sources.jobs import jobs_of
from controlplane.converger.tick.sources.kedge_rights import KedgeRightsReader
from controlplane.converger.tick.sources.producer_quota import producer_quota_of
from controlplane.converger.tick.sources.settings import settings_of
from controlplane.converger.tick.sources.topics import TopicsReader
from controlplane.converger.tick.sources.users import UsersReader
from controlplane.converger.tick.sources.zookeeper import zookeeper_of
from events.ids import ClusterUid
from planner.observed import KafkaSnapshot, TopicPartition


class Observer:
    """Observes clusters through the ports. Its readers remember their last looks at Kafka (when, and how fast logs
    grow), and plans as they read them."""

    def __init__(self, ports: Ports, *, in_rounds: bool = False) -> None:
        """`in_rounds`: a cluster at rest is looked at once in each of its rounds (`rounds`), not so long after the last
        look."""
        self._ports = ports
        self._agents = AgentsReader(ports.latest, ports.clock)
        self._brokers = BrokersReader(ports, self._agents, in_rounds=in_rounds)
        self._topics = TopicsReader(ports)
        self._users = UsersReader(ports)
        self._kedge_rights = KedgeRightsReader(ports)
        self._quotas = ClientQuotasReader(ports)
        self._background = BackgroundReader(ports)
        self._filters, self._overlay = FilterWatch(ports.packet_filter), OverlayWatch()
        self._certificates = CertificateWatch()
        self._own_authorities = OwnAuthorityWatch(ports.own_authorities)
        self._plans = PlansReader(ports.plans)

    def observe(self, view: ClusterView) -> Observation:
        """What is to be seen now. What cannot be read is missing, with the reason."""
        missing: dict[str, str] = {}
        ports = self._ports
        jobs = jobs_of(view, ports.jobs, ports.clock())
        # What a run did is an outcome only in an inventory newer than its end: asking for that saves a tick.
        ended = max((j.ended_at for j in jobs.values() if j.ended_at), default=None)
        inventory, refused = inventory_of(view, ports.inventory, missing, newer_than=ended)
        before = self._brokers.snapshots.get(view.uid)
        heard = cache(lambda: self._agents.reports(view))
        reports = heard() if has_work(view) or self._brokers.is_suspect(view) else {}
        rights = self._kedge_rights.read(view, missing, dials=self._brokers.would_dial(view))
        kafka = None if "kafka" in missing else self._brokers.read(view, missing, heard)
        if kafka is None:
            self._kedge_rights.look_again(view.uid)  # they may be why
        else:
            self._brokers.take_in(view, kafka, reports)
        is_new = kafka is not None and kafka is not before
        return Observation(
            inventory=inventory,
            refused=refused,
            reports=reports,
            kafka=kafka,
            jobs=jobs,
            moves=self._brokers.moves_of(view, kafka),
            clouds=clouds_of(view, ports.clouds, missing),
            plans=self._plans.of(view),
            settings=settings_of(view, ports, missing) if is_new else None,
            topics=self._topics.read(view, kafka, missing) if kafka is not None and is_new else None,
            users=self._users.read(view, kafka, missing) if kafka is not None and is_new else None,
            access=AccessSeen(
                rights,
                self._quotas.read(view, kafka, missing) if kafka is not None and is_new else None,
                producer_quota_of(view, kafka, ports, missing) if kafka is not None and is_new else None,
            ),
            placement=self._brokers.placement(view, kafka),
            traffic=self.traffic(view.uid) if has_work(view) else UNKNOWN,
            loads=self._brokers.loads(view, kafka, reports),
            zookeeper=zookeeper_of(view, ports, missing, kafka_was_read=kafka is not None),
            networks=ports.networks(view),
            background=replace(
                self._background.read(view),
                certificates=self._certificates.look(view, ports.clock(), heard),
                own_authorities=self._own_authorities.look(view, ports.clock()),
                filters_behind=self._filters.look(view, ports.clock(), heard),
                overlay_troubles=self._overlay.look(view, ports.clock(), heard),
            ),
            health=self._brokers.health_of(view, kafka, reports),
            missing=missing,
        )

    def look_again(self, uid: str) -> None:
        """Something was done to the cluster: what is known of it is old now."""
        self._brokers.look_again(uid)

    def rights_doubted(self, uid: ClusterUid) -> None:
        """Kedge's own ACLs are about to be made anew, or a call was refused for want of one: looked at next."""
        self._kedge_rights.look_again(uid)

    def leaders_asked_back(self, uid: ClusterUid) -> None:
        """Leadership is about to be asked back; if that is in vain it is asked less and less often."""
        self._brokers.moves.asked(uid, self._ports.clock())

    def election_refused(self, uid: ClusterUid, words: str) -> None:
        """Kafka would not elect: another controller would say the same."""
        self._brokers.moves.refused(uid, words)

    def moves_taken_back(self, uid: ClusterUid, names: Iterable[TopicPartition], refused: str) -> None:
        """Moves were to be taken back; one that Kafka will not is asked for less and less often."""
        self._brokers.moves.taken_back(uid, names, self._ports.clock(), refused)

    def heartbeats_asked(self, uid: ClusterUid) -> None:
        """Partitions of heartbeats are about to be asked for; what is refused is asked for again later."""
        self._brokers.health.heartbeats_asked(uid, self._ports.clock())

    def last_moves(self, uid: ClusterUid) -> MoveProgress:
        """How the moves of the cluster have come on, by the last look."""
        return self._brokers.moves.known(uid)

    def behind(self, uid: ClusterUid) -> Mapping[Replica, datetime]:
        """Replicas out of sync, and since when this server has seen them so."""
        return self._brokers.replica_lag.since(uid)

    def last_snapshot(self, uid: str) -> KafkaSnapshot | None:
        """Kafka's metadata as it was last read, however old."""
        return self._brokers.snapshots.get(uid)

    def traffic(self, uid: str) -> Traffic:
        """What the cluster writes and reads, as far as the looks at it tell."""
        return self._brokers.traffic(uid)

    def hears_of(self, view: ClusterView) -> bool:
        """Whether agents found something wrong in it, by what is kept now."""
        return self._agents.is_unhealthy(view.uid, anew=True)

    def would_dial(self, view: ClusterView) -> bool:
        """Whether the next look at the cluster asks its brokers."""
        return self._brokers.would_dial(view)
