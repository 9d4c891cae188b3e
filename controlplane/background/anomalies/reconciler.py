"""Looks for anomalies in the fleet at a slow pace, beside the ticks, and records what has changed.

Polled by the leader alone. A cluster at rest, of which nothing is new since the last look, costs a comparison. What is
to be done about slow brokers is handed to the cluster as a command, about hot ones as advice; every other cure is the
converger's own.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from agent.wire import DIRECTORY_LOST, Report
from controlplane.background.anomalies.evidence import REPORTS_YOUNG, DiskFailure, SeenCluster, evidence
from controlplane.background.anomalies.fold import EMPTY, AnomalyFold, folded, read_anomalies
from controlplane.background.anomalies.forecasts import forecasts_of
from controlplane.background.anomalies.hot_brokers import advice, coolings_of, hot_in
from controlplane.background.anomalies.rates import NoRates, Rates, TopicRates
from controlplane.background.anomalies.record import keep_noted
from controlplane.background.anomalies.status import Stance
from controlplane.background.anomalies.windows import Windows
from controlplane.background.rounds import Round
from controlplane.cluster.commands import Command, CommandRefused, DemoteBroker, PromoteBroker
from controlplane.cluster.healing_switches import why_not
from controlplane.cluster.observed.agent_reports import AGENT_FINDINGS, AGENT_REPORT, unhealthy_clusters
from controlplane.cluster.observed.cpu_shares import CpuNoted, keep_cpu
from controlplane.cluster.observed.hot_brokers import HotNoted, keep_hot
from controlplane.cluster.observed.traffic import UNKNOWN, Traffic
from controlplane.cluster.view import ClusterView
from controlplane.converger.questions.moves.known_load import known_load
from controlplane.converger.tick.lake_rates import mean_cpu
from controlplane.fleet.ports import SeenFleet
from controlplane.storage.latest_values import LatestStore
from controlplane.storage.streams import anomalies_stream
from events import codec, envelope, errors, facts, ids
from events.clock import Clock
from events.store import EventStore
from planner.anomalies.cooling import Cooling
from planner.anomalies.hot import HotBroker, HotRule
from planner.anomalies.judge import Anomaly, AnomalyChange, AnomalyFinding, changes
from planner.anomalies.kinds import Kind, State
from planner.anomalies.slow import BrokerWindow, SlowBroker, SlowRule, slow_brokers, suspects
from planner.anomalies.topic_rates import topic_of_rate
from planner.observed import KafkaSnapshot
from planner.rebalancing.known_load import NO_LOAD, KnownLoad
from spark.metrics.read_trends import ClusterTrends

_log = logging.getLogger(__name__)

ACTOR = "anomalies"
GOALS_EVERY = timedelta(minutes=5)
"""How often the goals of a cluster are held against its metadata: that is a walk over its partitions."""
WINDOWS_EVERY = timedelta(seconds=30)
HOLD = timedelta(hours=1)
"""How long a demoted broker is kept so before it is tried again, doubled with each time in a day."""
LONGEST_HOLD = timedelta(hours=24)

_FAILED_DIR = "log_dir_failed"
_LOST_DIR = f"{DIRECTORY_LOST}:"
"""Of a broker; a controller's disk that holds nothing is on record."""


class HandlesCommands(Protocol):
    """Carries out commands; `CommandHandler` is one."""

    def handle(self, command: Command) -> object: ...


Mark = tuple[
    int,
    datetime | None,
    bool,
    tuple[SlowBroker, ...] | None,
    tuple[HotBroker, ...] | None,
    Rates,
    ClusterTrends | None,
    tuple[AnomalyFinding, ...],
]
"""What a look rests on: nothing is new while it is the same."""

OfPairs = Mapping[ids.ClusterUid, tuple[AnomalyFinding, ...]]
"""What is wrong of pairs of clusters, by the one that stands by."""


@dataclass(slots=True)
class _ClusterMemory:
    """What is remembered of a cluster between two looks; all of it can be read again."""

    fold: AnomalyFold
    mark: Mark | None = None
    goals_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class _Outliers:
    """Slow and hot brokers of a cluster, None where no window says anything; by node, what could be done about the hot
    ones, and the advice to those who do it."""

    slow: tuple[SlowBroker, ...] | None = None
    hot: tuple[HotBroker, ...] | None = None
    coolings: Mapping[str, Cooling] = field(default_factory=dict)
    advice: Mapping[str, HotNoted] = field(default_factory=dict)
    cpu_used: Mapping[int, float] = field(default_factory=dict)
    """By broker, the share of its processors it uses."""


@dataclass(slots=True)
class _WindowsSeen:
    at: datetime
    by_cluster: Mapping[ids.ClusterUid, _Outliers] = field(default_factory=dict)


_NO_OUTLIERS = _Outliers()


class AnomalyReconciler:
    """One look over the fleet per `poll`. `wake` is told that something was recorded."""

    def __init__(
        self,
        fleet: SeenFleet,
        store: EventStore,
        latest: LatestStore,
        windows: Windows,
        commands: HandlesCommands,
        clock: Clock,
        *,
        epoch: Callable[[], int],
        rule: SlowRule | None = None,
        hot: HotRule | None = None,
        wake: Callable[[], object] = lambda: None,
        rates: TopicRates | None = None,
        traffic: Callable[[ids.ClusterUid], Traffic] = lambda _uid: UNKNOWN,
        pairs: Callable[[], OfPairs] = dict,
    ) -> None:
        self._fleet, self._store, self._latest, self._windows = fleet, store, latest, windows
        self._commands, self._clock, self._epoch, self._wake = commands, clock, epoch, wake
        self._rule, self._hot, self._rates = rule or SlowRule(), hot or HotRule(), rates or NoRates()
        self._traffic, self._pairs = traffic, pairs
        self._of_pairs: OfPairs = {}
        self._known: dict[ids.ClusterUid, _ClusterMemory] = {}
        self._seen: _WindowsSeen | None = None

    def poll(self) -> None:
        """A cluster that cannot be looked at is left for the next round. Raises StoreUnavailable, RoundIncomplete."""
        now, this_round = self._clock(), Round("anomalies")
        unhealthy_uids = unhealthy_clusters(self._latest.of_kind(AGENT_FINDINGS), now)
        views = [v for v in self._fleet.views() if v.document is not None]
        self._of_pairs = self._pairs()
        outliers = self._outliers([v for v in views if not v.history.unreadable], now, this_round)
        recorded = 0
        for view in views:
            with this_round.apart(view.name):
                try:
                    recorded += self._look(view, unhealthy_uids, outliers.get(view.uid, _NO_OUTLIERS), now)
                except errors.StreamConflict:
                    self._known.pop(view.uid, None)  # somebody else led meanwhile: read anew at the next look
        if recorded:
            self._wake()
        this_round.close()

    def _look(
        self, view: ClusterView, unhealthy_uids: frozenset[ids.ClusterUid], outliers: _Outliers, now: datetime
    ) -> int:
        known = self._known.get(view.uid)
        if known is None:
            known = self._known[view.uid] = _ClusterMemory(read_anomalies(self._store, view.uid))
            if known.fold.version:
                keep_noted(self._latest, view.uid, known.fold, now)  # it may have been lost
        kafka = self._fleet.last_snapshot(view.uid)
        rates = self._rates.of(view.uid)
        trends = self._windows.trends().get(view.uid)
        mark: Mark = (
            view.version,
            kafka.at if kafka else None,
            view.uid in unhealthy_uids,
            outliers.slow,
            outliers.hot,
            rates,
            trends,
            self._of_pairs.get(view.uid, ()),
        )
        if known.mark == mark and not known.fold.open_ and not view.requests.demotions:
            return 0
        if known.fold.unreadable:
            _log.error("anomalies of %s cannot be read: %s", view.name, known.fold.unreadable)
            known.mark = mark
            return 0
        goals = known.goals_at is None or now - known.goals_at >= GOALS_EVERY
        seen = SeenCluster(
            kafka=kafka,
            slow=outliers.slow,
            hot=outliers.hot,
            forecasts=forecasts_of(view, kafka, trends, now.date()),
            disks=self._disks(view, known.fold, view.uid in unhealthy_uids, now),
            rates=rates,
            odd_rates=odd_rates(known.fold),
            now=now,
            holds=held_down(view, known.fold),
            goals=goals,
            pairs=self._of_pairs.get(view.uid, ()),
            load=self._load(view, kafka, outliers.cpu_used) if goals and kafka is not None else NO_LOAD,
        )
        found = evidence(view, seen)
        stance = Stance(view, now, slow=len(outliers.slow or ()), coolings=outliers.coolings)
        made = changes(known.fold.open_.values(), found.findings, stance.of, looked_at=found.looked_at, now=now)
        if made:
            self._record(view, known, made)
        known.mark = mark
        if goals and kafka is not None:
            known.goals_at = now
        self._steer(view, known.fold, now)
        self._advise(view.uid, known.fold, outliers.advice)
        return len(made)

    def _load(self, view: ClusterView, kafka: KafkaSnapshot, cpu_used: Mapping[int, float]) -> KnownLoad:
        return known_load(view, kafka, self._traffic(view.uid), cpu_used)

    def _record(self, view: ClusterView, known: _ClusterMemory, made: Sequence[AnomalyChange]) -> None:
        stream, fold = anomalies_stream(view.uid), known.fold
        events = [
            codec.encode(fact, ids.derived_id("anomaly event", stream, str(fold.version + n)))
            for n, fact in enumerate(facts_of(view, fold, made))
        ]
        origin = envelope.Origin(actor=ACTOR, epoch=self._epoch())
        recorded = self._store.append(stream, events, expected_version=fold.version, origin=origin)
        known.fold = folded(fold, recorded)
        keep_noted(self._latest, view.uid, known.fold, self._clock())

    def _steer(self, view: ClusterView, fold: AnomalyFold, now: datetime) -> None:
        """Hands to the cluster what is to be done about slow brokers; it carries that out when it may."""
        for command in steering(view, fold, now):
            try:
                self._commands.handle(command)
            except (CommandRefused, errors.EventsError, LookupError) as error:
                _log.info("%s: %s: %s", view.name, type(command).__name__, error)

    def _advise(self, uid: ids.ClusterUid, fold: AnomalyFold, advice: Mapping[str, HotNoted]) -> None:
        """What is to be done about a hot broker, of one at a time: each changes what may be done of the next."""
        if not advice:
            return
        healing = (a.subject for a in fold.open_.values() if a.kind is Kind.HOT_BROKER and a.state is State.HEALING)
        advised = [advice[node] for node in sorted(healing) if node in advice]
        if advised:
            keep_hot(self._latest, uid, next((one for one in advised if one.lists), advised[0]))

    def _disks(
        self, view: ClusterView, fold: AnomalyFold, is_unhealthy: bool, now: datetime
    ) -> tuple[DiskFailure, ...] | None:
        waited = {a.subject for a in fold.open_.values() if a.kind is Kind.DISK_FAILURE}
        if not is_unhealthy and not waited:
            return ()
        found, heard = [], set()
        for row in self._latest.of_cluster(view.uid, AGENT_REPORT):
            instance = view.instances.get(row.subject.name)
            if instance is None or now - row.observed_at > REPORTS_YOUNG:
                continue
            heard.add(instance.node)
            found += [DiskFailure(instance.node, reason) for reason in _failed_dirs(row.value)]
        return tuple(found) if waited & view.nodes().keys() <= heard else None

    def _outliers(
        self, views: Sequence[ClusterView], now: datetime, this_round: Round
    ) -> Mapping[ids.ClusterUid, _Outliers]:
        """Of a cluster whose windows make no sense nothing is known: it is left out."""
        if self._seen is None or now - self._seen.at >= WINDOWS_EVERY:
            recent = self._windows.recent(now)
            found: dict[ids.ClusterUid, _Outliers] = {}
            for view in views:
                if view.uid in recent:
                    with this_round.apart(view.name):
                        found[view.uid] = self._outliers_in(view, recent[view.uid], now)
            self._seen = _WindowsSeen(now, found)
        return self._seen.by_cluster

    def _outliers_in(self, view: ClusterView, windows: Sequence[BrokerWindow], now: datetime) -> _Outliers:
        slow = self._slow_in(view, windows, now)
        hot = hot_in(view, windows, self._windows, now, known=self._known_as(view, Kind.HOT_BROKER), rule=self._hot)
        if not hot:
            return _Outliers(slow, hot, cpu_used=self._cpu_in(view, windows, now))
        kafka = self._fleet.last_snapshot(view.uid)
        coolings = coolings_of(view, kafka, hot, windows, self._windows, now, rule=self._hot)
        found = advice(view, kafka, coolings, now)
        return _Outliers(slow, hot, coolings, found, self._cpu_in(view, windows, now))

    def _cpu_in(self, view: ClusterView, windows: Sequence[BrokerWindow], now: datetime) -> Mapping[int, float]:
        """Kept for the ticks, which read no lake."""
        used = mean_cpu(windows, now)
        if used:
            keep_cpu(self._latest, view.uid, CpuNoted(now, used))
        return used

    def _slow_in(
        self, view: ClusterView, windows: Sequence[BrokerWindow], now: datetime
    ) -> tuple[SlowBroker, ...] | None:
        asked = suspects(windows, now, self._rule)
        past = self._windows.past(view.uid, sorted(asked), now) if asked else ()
        return slow_brokers(windows, past, now, known=self._known_as(view, Kind.SLOW_BROKER), rule=self._rule)

    def _known_as(self, view: ClusterView, kind: Kind) -> list[int]:
        """Brokers of which an anomaly of the kind is open."""
        fold = self._known[view.uid].fold if view.uid in self._known else EMPTY
        open_ = {a.subject for a in fold.open_.values() if a.kind is kind}
        return [i.service_id for i in view.brokers() if i.node in open_]


def facts_of(view: ClusterView, fold: AnomalyFold, made: Sequence[AnomalyChange]) -> Iterator[object]:
    """The facts that record these changes."""
    count = fold.found
    for change in made:
        finding, status = change.finding, change.status
        if change.anomaly is not None:
            yield facts.AnomalyChanged(change.anomaly.id, status.state.value, status.words)
            continue
        count += 1
        yield facts.AnomalyFound(
            anomaly=f"{view.name}-{count}",
            cluster=view.name,
            kind=finding.kind.value,
            subject=finding.subject,
            reason=finding.reason,
            state=status.state.value,
            words=status.words,
        )


def steering(view: ClusterView, fold: AnomalyFold, now: datetime) -> Iterator[Command]:
    """Slow brokers that are to be demoted, and demoted ones that may lead again."""
    slow = {a.subject: a for a in fold.open_.values() if a.kind is Kind.SLOW_BROKER}
    off = why_not(view, Kind.SLOW_BROKER, now)
    for key, demotion in sorted(view.requests.demotions.items()):
        if demotion.ended or demotion.by_person or (view.instances[key].node in slow and not off):
            continue
        reason = off or "it is not slow any more, or it is time to try it again"
        yield PromoteBroker(name=view.name, actor=ACTOR, command_id=_id(view, "promote", key), key=key, reason=reason)
    for instance in view.brokers():
        anomaly = slow.get(instance.node)
        if anomaly is None or anomaly.state is not State.HEALING or off:
            continue
        known = view.requests.demotions.get(instance.key)
        if known is None or known.ended:
            yield DemoteBroker(
                name=view.name,
                actor=ACTOR,
                command_id=_id(view, "demote", instance.key),
                key=instance.key,
                reason=anomaly.reason,
            )


def odd_rates(fold: AnomalyFold) -> Mapping[str, str]:
    """By topic, why its rate was found odd, of what is open."""
    open_rates = ((topic_of_rate(a.subject), a.reason) for a in fold.open_.values() if a.kind is Kind.TOPIC_ANOMALY)
    return {topic: reason for topic, reason in open_rates if topic is not None}


def held_down(view: ClusterView, fold: AnomalyFold) -> Mapping[str, datetime]:
    """By node, until when a demoted broker is kept so: longer each time it was slow again within a day."""
    if not view.requests.demotions:
        return {}
    holds = {}
    for key, demotion in view.requests.demotions.items():
        if demotion.ended or demotion.by_person:
            continue
        node = view.instances[key].node
        before = [a for a in fold.past if _was_slow(a, node) and demotion.requested_at - a.changed_at < LONGEST_HOLD]
        hold = min(LONGEST_HOLD, HOLD * 2 ** min(5, len(before)))
        holds[node] = (demotion.done_at or demotion.requested_at) + hold
    return holds


def _was_slow(anomaly: Anomaly, node: str) -> bool:
    return anomaly.kind is Kind.SLOW_BROKER and anomaly.subject == node and anomaly.notified


def _id(view: ClusterView, what: str, key: str) -> str:
    return ids.derived_id(what, view.uid, key, str(view.version))


def _failed_dirs(value: Mapping[str, object]) -> list[str]:
    report = Report.model_validate(dict(value))
    return [
        f"{finding.message} (since {finding.since:%Y-%m-%d %H:%M} UTC)"
        for service in report.services
        for finding in service.findings
        if finding.name.partition(":")[0] == _FAILED_DIR or finding.name.startswith(_LOST_DIR)
    ]
