"""Reads what one tick sees of one cluster, and no more than it needs: Kafka is dialled where work is in hand."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from typing import TypeVar

from controlplane.cluster.external_brokers import external_addresses
from controlplane.cluster.observed import agent_reports, consumer_groups, disks, health, hot_brokers, replica_lag
from controlplane.cluster.observed.jobs import JobSeen, job_seen
from controlplane.cluster.observed.moves import Known, MoveWatch
from controlplane.cluster.observed.traffic import UNKNOWN, Traffic, TrafficWatch, sent_by
from controlplane.cluster.places import places_of
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.running_settings import SettingStage
from controlplane.cluster.work_in_hand import has_work
from controlplane.converger.conditions.packet_filters import FilterWatch
from controlplane.converger.questions.health.broken_down import exits_of
from controlplane.converger.questions.moves.leaders import displaced_leaders
from controlplane.converger.questions.moves.placement_work import names_strangers, placement_of
from controlplane.converger.questions.moves.rebalance_requests import rebalance_job_id
from controlplane.converger.questions.quorum.protocol import PROTOCOL, goes_back
from controlplane.converger.questions.rolls.plan_ahead import foreseen_drain, plan_job_id
from controlplane.converger.questions.running.setting_racks import racks_in_order
from controlplane.converger.questions.running.setting_work import (
    SettingWork,
    drift_work,
    is_between_steps,
    setting_work,
)
from controlplane.converger.questions.topics.work import names_to_ask, topic_work
from controlplane.converger.situation.observation import (
    BackgroundSeen,
    CloudsSeen,
    NoPlaceAnswers,
    Observation,
    PlansRead,
    SettingsObserved,
    TopicsObserved,
    ZooKeeperSeen,
    refused_in,
)
from controlplane.converger.situation.placement import PlacementSeen
from controlplane.converger.situation.ports import Ports
from controlplane.converger.steps.clouds.intents import job_id
from controlplane.converger.tick.health_watch import HealthWatch
from controlplane.converger.tick.read_plans import ReadPlans
from controlplane.converger.tick.rounds import round_of
from controlplane.kafka.errors import KafkaFault
from controlplane.kafka.zookeeper.registry import RegistrySeen
from controlplane.runtime.once import once
from events.ids import ClusterUid, IntentId
from planner.drain.plan import DrainPlan
from planner.observed import KafkaSnapshot, SettingsSeen, TopicPartition
from planner.rebalancing.plan import RebalancePlan
from planner.rollout.canary_step import back_step, own_left, rack_step, trial_step
from planner.rollout.live_step import LiveStep, SettingDeviation, deviations, next_live_step
from providers import errors as provider_errors
from providers.handover import Handover

_T = TypeVar("_T")

LOOK_EVERY = timedelta(seconds=60)
"""How often a converged cluster's brokers are asked how they are."""

GROUPS_EVERY = timedelta(seconds=30)
"""How often it is read what was last seen of consumer groups, and of hot brokers, for all clusters at once."""

FINDINGS_EVERY = timedelta(seconds=5)
"""How often it is asked which clusters agents found something wrong in."""


class Observer:
    """Observes clusters through the ports. Remembers only its last looks at Kafka (when, and how fast logs grow), and
    plans as it read them."""

    def __init__(self, ports: Ports, *, in_rounds: bool = False) -> None:
        """`in_rounds`: a cluster at rest is looked at once in each of its rounds (`rounds`), not so long after the last
        look."""
        self._ports, self._in_rounds = ports, in_rounds
        self._snapshots: dict[str, KafkaSnapshot] = {}
        self._acted: set[str] = set()
        self._topics_at: dict[str, datetime] = {}
        self._ailing: tuple[datetime, frozenset[ClusterUid]] | None = None
        self._watches: dict[str, TrafficWatch] = {}
        self._groups: tuple[datetime, Mapping[ClusterUid, consumer_groups.GroupsNoted]] | None = None
        self._hot: tuple[datetime, Mapping[ClusterUid, hot_brokers.HotNoted]] | None = None
        self._moves = MoveWatch(ports.latest)
        self._placements: dict[str, tuple[KafkaSnapshot, ClusterView, PlacementSeen]] = {}
        self._health = HealthWatch()
        self._behind = replica_lag.BehindWatch()
        self._filters = FilterWatch(ports.packet_filter)
        self._drain_plans = ReadPlans(ports.plans, DrainPlan.from_bytes)
        self._rebalance_plans = ReadPlans(ports.plans, RebalancePlan.from_bytes)

    def observe(self, view: ClusterView) -> Observation:
        """What is to be seen now. What cannot be read is missing, with the reason."""
        missing: dict[str, str] = {}
        inventory, refused = None, dict[str, str]()
        jobs = self._jobs(view)
        # What a run did is an outcome only in an inventory newer than its end: asking for that saves a tick.
        ended = max((j.ended_at for j in jobs.values() if j.ended_at), default=None)
        try:
            inventory = self._ports.inventory.seen(view, newer_than=ended)
        except provider_errors.ProviderError as error:
            missing["inventory"] = str(error)
            refused = refused_in(_by_place(view, error))
        before = self._snapshots.get(view.uid)
        drain_sha256 = view.drain.plan.sha256 if view.drain else ""
        rebalance_sha256 = view.rebalance.plan.sha256 if view.rebalance else ""
        heard = cache(
            lambda: agent_reports.reports_by_key(self._ports.latest.of_cluster(view.uid, agent_reports.AGENT_REPORT))
        )
        reports = heard() if self._asks_agents(view) else {}
        kafka = self._kafka(view, missing, heard)
        if kafka is not None:
            sent = sent_by(view, {key: seen.report for key, seen in reports.items()})
            self._watches.setdefault(view.uid, TrafficWatch()).see(kafka, sent)
            self._behind.see(view.uid, kafka)
        moves = self._moves_of(view, kafka)
        return Observation(
            inventory=inventory,
            reports=reports,
            kafka=kafka,
            jobs=jobs,
            plans=PlansRead(
                drain=self._drain_plans.of(view.uid, drain_sha256),
                drain_sha256=drain_sha256,
                rebalance=self._rebalance_plans.of(view.uid, rebalance_sha256),
                rebalance_sha256=rebalance_sha256,
            ),
            settings=self._settings(view, missing) if kafka is not None and kafka is not before else None,
            topics=self._topics(view, kafka, missing) if kafka is not None and kafka is not before else None,
            placement=self._placement(view, kafka),
            missing=missing,
            refused={**(inventory.refused if inventory is not None else {}), **refused},
            traffic=self.traffic(view.uid) if has_work(view) else UNKNOWN,
            clouds=self._clouds(view, missing),
            zookeeper=self._zookeeper(view, kafka, missing),
            networks=self._ports.networks(view),
            background=BackgroundSeen(
                groups=self._groups_of(view), hot=self._hot_of(view), drift=self._ports.drift(view)
            ),
            filters_behind=self._filters.look(view, self._ports.clock(), heard),
            health=self._health_of(view, kafka, reports),
            moves=moves,
        )

    def look_again(self, uid: str) -> None:
        """Something was done to the cluster: what is known of it is old now."""
        self._acted.add(uid)

    def leaders_asked_back(self, uid: ClusterUid) -> None:
        """Leadership is about to be asked back; if that is in vain it is asked less and less often."""
        self._moves.asked(uid, self._ports.clock())

    def election_refused(self, uid: ClusterUid, words: str) -> None:
        """Kafka would not elect: another controller would say the same."""
        self._moves.refused(uid, words)

    def moves_taken_back(self, uid: ClusterUid, names: Iterable[TopicPartition], refused: str) -> None:
        """Moves were to be taken back; one that Kafka will not is asked for less and less often."""
        self._moves.taken_back(uid, names, self._ports.clock(), refused)

    def heartbeats_asked(self, uid: ClusterUid) -> None:
        """Partitions of heartbeats are about to be asked for; what is refused is asked for again later."""
        self._health.heartbeats_asked(uid, self._ports.clock())

    def last_moves(self, uid: ClusterUid) -> Known:
        """How the moves of the cluster have come on, by the last look."""
        return self._moves.known(uid)

    def behind(self, uid: ClusterUid) -> Mapping[replica_lag.Replica, datetime]:
        """Replicas out of sync, and since when this server has seen them so."""
        return self._behind.since(uid)

    def last_snapshot(self, uid: str) -> KafkaSnapshot | None:
        """Kafka's metadata as it was last read, however old."""
        return self._snapshots.get(uid)

    def traffic(self, uid: str) -> Traffic:
        """What the cluster writes and reads, as far as the looks at it tell."""
        watch = self._watches.get(uid)
        return watch.traffic(self._ports.clock()) if watch else UNKNOWN

    def hears_of(self, view: ClusterView) -> bool:
        """Whether agents found something wrong in it, by what is kept now."""
        self._ailing = None
        return self._is_ailing(view)

    def would_dial(self, view: ClusterView) -> bool:
        """Whether the next look at the cluster asks its brokers."""
        if not has_brokers(view):
            return False
        known = self._snapshots.get(view.uid)
        return known is None or self._must_dial(view, known)

    def _health_of(
        self, view: ClusterView, kafka: KafkaSnapshot | None, reports: Mapping[str, agent_reports.ReportSeen]
    ) -> health.HealthSeen:
        if kafka is None:
            return health.WELL
        seen, now = self._health.see(view, kafka, working=has_work(view)), self._ports.clock()
        return self._health.hear(view.uid, exits_of(view, reports, now), now) if seen.away else seen

    def _moves_of(self, view: ClusterView, kafka: KafkaSnapshot | None) -> Known:
        away = bool(displaced_leaders(kafka)) if kafka is not None else False
        return Known() if kafka is None else self._moves.see(view.uid, kafka, leaders_away=away)

    def _clouds(self, view: ClusterView, missing: dict[str, str]) -> CloudsSeen:
        clouds = _clouds_of(view)
        ways = [self._handover(cloud, missing) for cloud in clouds]
        holding = self._of_clouds(clouds, self._ports.clouds.holds_mounted, missing) if view.intents else {}
        return CloudsSeen(
            handover=ways[0] if ways else Handover.REBIND,
            handovers=dict(zip(clouds, ways, strict=True)) if len(clouds) > 1 else {},
            unlisted_s=self._of_clouds(clouds, self._ports.clouds.unlisted_s, missing) if view.intents else {},
            holds_mounted=frozenset(cloud for cloud, holds in holding.items() if holds),
        )

    def _zookeeper(self, view: ClusterView, kafka: KafkaSnapshot | None, missing: dict[str, str]) -> ZooKeeperSeen:
        return ZooKeeperSeen(
            registered_id=self._registered_id(view, missing),
            registry=self._registry(view, missing),
            restart_lock=self._ports.zookeeper.restart_lock.standing(view) if view.in_zookeeper_mode else "lost",
            protocols=self._protocols(view, missing) if kafka is not None else None,
        )

    def _handover(self, cloud: str, missing: dict[str, str]) -> Handover | None:
        try:
            return self._ports.clouds.handover(cloud)
        except provider_errors.ProviderError as error:
            missing["handover"] = str(error)
            return None

    def _of_clouds(self, clouds: Iterable[str], ask: Callable[[str], _T], missing: dict[str, str]) -> dict[str, _T]:
        """What each says of itself; one that cannot be told does not start a run either."""
        told: dict[str, _T] = {}
        for cloud in clouds:
            try:
                told[cloud] = ask(cloud)
            except provider_errors.ProviderError as error:
                missing["inventory"] = str(error)
        return told

    def _registered_id(self, view: ClusterView, missing: dict[str, str]) -> str | None:
        if not view.in_zookeeper_mode or view.founding is None or view.cluster_id_fixed:
            return None
        try:
            return self._ports.zookeeper.registered_id(view)
        except KafkaFault as error:
            missing["ensemble"] = str(error)
            return None

    def _registry(self, view: ClusterView, missing: dict[str, str]) -> RegistrySeen | None:
        if view.migration is None:
            return None
        try:
            return self._ports.zookeeper.registry(view)
        except KafkaFault as error:
            missing["ensemble"] = str(error)
            return None

    def _must_dial(self, view: ClusterView, known: KafkaSnapshot) -> bool:
        now = self._ports.clock()
        if self._in_rounds:
            is_due = round_of(view.uid, now, LOOK_EVERY) != round_of(view.uid, known.at, LOOK_EVERY)
        else:
            is_due = now - known.at >= LOOK_EVERY
        is_suspect = self._is_ailing(view) or self._health.is_suspicious(view.uid)
        return has_work(view) or view.uid in self._acted or is_due or is_suspect

    def _is_ailing(self, view: ClusterView) -> bool:
        """Whether agents found something wrong in it. Read for all clusters at once, every few seconds."""
        now = self._ports.clock()
        if self._ailing is None or now - self._ailing[0] >= FINDINGS_EVERY:
            self._ailing = now, agent_reports.ailing(self._ports.latest.of_kind(agent_reports.AGENT_FINDINGS), now)
        return view.uid in self._ailing[1]

    def _groups_of(self, view: ClusterView) -> consumer_groups.GroupsNoted | None:
        now = self._ports.clock()
        if self._groups is None or now - self._groups[0] >= GROUPS_EVERY:
            self._groups = now, consumer_groups.notes_of(self._ports.latest.of_kind(consumer_groups.GROUPS_NOTED))
        return self._groups[1].get(view.uid)

    def _hot_of(self, view: ClusterView) -> hot_brokers.HotNoted | None:
        now = self._ports.clock()
        if self._hot is None or now - self._hot[0] >= GROUPS_EVERY:
            self._hot = now, hot_brokers.hot_of(self._ports.latest.of_kind(hot_brokers.HOT_NOTED))
        return self._hot[1].get(view.uid)

    def _asks_agents(self, view: ClusterView) -> bool:
        return has_work(view) or self._is_ailing(view) or self._health.is_suspicious(view.uid)

    def _kafka(
        self, view: ClusterView, missing: dict[str, str], heard: Callable[[], Mapping[str, agent_reports.ReportSeen]]
    ) -> KafkaSnapshot | None:
        if not has_brokers(view):
            missing["kafka"] = "no broker has been started yet"
            return None
        known = self._snapshots.get(view.uid)
        if known is not None and not self._must_dial(view, known):
            return known
        try:
            read = self._ports.kafka(view).snapshot()
        except KafkaFault as error:
            missing["kafka"] = str(error)
            return None
        # Whoever shows it later has no reports at hand, and at rest none are read here but at such a look.
        fresh = disks.with_volume_sizes(read, view, heard())
        self._snapshots[view.uid] = fresh
        self._acted.discard(view.uid)
        return fresh

    def _placement(self, view: ClusterView, kafka: KafkaSnapshot | None) -> PlacementSeen | None:
        """Once for each look at Kafka: a tick between two looks costs a comparison. While something is in hand only
        where replicas seem to be lost, which nothing of it waits for to pass by itself."""
        if kafka is None or not view.converged or (has_work(view) and not names_strangers(kafka)):
            return None
        known = self._placements.get(view.uid)
        if known is None or known[0] is not kafka or known[1] is not view:
            known = self._placements[view.uid] = kafka, view, placement_of(view, kafka)
        return known[2]

    def _settings(self, view: ClusterView, missing: dict[str, str]) -> SettingsObserved | None:
        """What the brokers say of the values to be set, or, at rest, of those they should hold."""
        work = _work_to_ask_for(view)
        if work is None or not (work.live or work.adopted):
            return None
        kafka = self._ports.kafka(view)
        try:
            seen = kafka.running_settings(frozenset(work.live) | work.adopted.keys())
            found = deviations(work.live, seen, unset_is_right=work.is_drift)
            step = _next_step(view, work, found, seen)
            refusals = kafka.setting_refusals(step) if step else {}
        except KafkaFault as error:
            missing["settings"] = str(error)
            return None
        kept = deviations(work.adopted, seen, unset_is_right=True)
        asked = SettingsObserved(work.live, work.is_drift, seen.brokers, found, step, refusals, kept)
        return replace(asked, stage=work.stage, canary=work.canary)

    def _protocols(self, view: ClusterView, missing: dict[str, str]) -> Mapping[int, str] | None:
        if not goes_back(view):
            return None
        try:
            running = self._ports.kafka(view).running_settings(frozenset({PROTOCOL})).brokers
        except KafkaFault as error:
            missing["protocols"] = str(error)
            return None
        told = {broker: values[PROTOCOL].value for broker, values in running.items() if PROTOCOL in values}
        return {broker: value for broker, value in told.items() if value}

    def _topics(self, view: ClusterView, snapshot: KafkaSnapshot, missing: dict[str, str]) -> TopicsObserved | None:
        """What is set on topics, and what Kafka says to what is to be done next about them."""
        if not view.topics.by_name or not view.converged:
            return None
        looked = self._topics_at.get(view.uid)
        everything = looked is None or snapshot.at - looked >= LOOK_EVERY
        asked = names_to_ask(view, everything=everything)
        if not asked:
            return None
        kafka = self._ports.kafka(view)
        try:
            configs = kafka.topic_configs(asked)
            step = topic_work(view, snapshot, configs, asked).step
            refusals = kafka.topic_refusals(step) if step else {}
        except KafkaFault as error:
            missing["topics"] = str(error)
            return None
        if everything:
            self._topics_at[view.uid] = snapshot.at
        return TopicsObserved(asked, configs, step.names, refusals)

    def _jobs(self, view: ClusterView) -> Mapping[str, JobSeen]:
        wanted = [job_id(i) for i in view.intents.values()]
        if view.drain is not None and not view.drain.plan.sha256:
            wanted.append(plan_job_id(view.drain))
        elif (foreseen := foreseen_drain(view, self._ports.clock())) is not None:
            wanted.append(plan_job_id(foreseen))
        if view.rebalance is not None and not view.rebalance.plan.sha256:
            wanted.append(rebalance_job_id(view.rebalance))
        found = ((w, self._ports.jobs.get(IntentId(w))) for w in wanted)
        return {w: job_seen(job) for w, job in found if job is not None}


def _by_place(view: ClusterView, error: provider_errors.ProviderError) -> Mapping[str, provider_errors.ProviderError]:
    return error.silent if isinstance(error, NoPlaceAnswers) else {str(p): error for p in places_of(view)[:1]}


@once
def _clouds_of(view: ClusterView) -> tuple[str, ...]:
    return tuple(sorted({place.cloud for place in places_of(view)}))


def _work_to_ask_for(view: ClusterView) -> SettingWork | None:
    work = setting_work(view)
    if work is None:
        return None if has_work(view) else drift_work(view)
    if work.stage is SettingStage.WATCH:
        return None
    return work if work.change or is_between_steps(view) else None


def _next_step(
    view: ClusterView, work: SettingWork, found: tuple[SettingDeviation, ...], seen: SettingsSeen
) -> LiveStep:
    if work.stage is SettingStage.CANARY and work.canary is not None:
        return trial_step(work.live, seen, work.canary)
    if work.stage is SettingStage.REVERT:
        return back_step(work.live, seen, work.tried)
    if work.goes_by_rack:
        of_a_rack = rack_step(work.live, seen, racks_in_order(view, first=work.canary))
        if of_a_rack:
            return of_a_rack
    # A change in hand may have set values on any rack by itself, one that gave way to it too.
    return next_live_step((*found, *own_left(work.live, seen, seen.brokers if work.change else work.tried)), seen)


def has_brokers(view: ClusterView) -> bool:
    """Whether there are any to ask yet."""
    if view.in_zookeeper_mode and not view.cluster_id_fixed:
        return False
    if view.founding is not None and any(i.address for i in view.brokers()):
        return True
    return bool(external_addresses(view))
