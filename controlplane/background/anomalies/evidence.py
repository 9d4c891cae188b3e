"""What is wrong in a cluster now, from what is recorded and what was last seen of it. Pure.

A kind that cannot be looked at now is not in `looked_at`: unknown is not over, and not found either.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from controlplane.background.anomalies.conditions import conditions_that_last, failed_partitions
from controlplane.background.anomalies.forecasts import Forecasts, short_capacity
from controlplane.background.anomalies.rates import NO_RATES, Rates, bands
from controlplane.background.anomalies.status import SETS, ZONES
from controlplane.cluster.condition_severity import UNREADABLE
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.conditions.maintenance import MAINTENANCE
from controlplane.converger.questions.moves.known_load import left_over, unevenness
from controlplane.converger.questions.moves.placement_work import ground_of, topic_policy
from controlplane.converger.questions.moves.rebalance_requests import missed_words
from planner.anomalies.hot import HotBroker
from planner.anomalies.judge import AnomalyFinding
from planner.anomalies.kinds import Kind
from planner.anomalies.slow import SlowBroker
from planner.anomalies.topic_rates import Side, rate_subject, reason_of, side_of
from planner.observed import KafkaSnapshot
from planner.placement.deviations import Rule, misplaced
from planner.rebalancing.imbalance import over_edge
from planner.rebalancing.known_load import NO_LOAD, KnownLoad

YOUNG = timedelta(minutes=3)
"""Older metadata says nothing about now: clusters at rest are looked at every minute."""
REPORTS_YOUNG = timedelta(seconds=60)

_NAMED = 3


@dataclass(frozen=True, slots=True)
class DiskFailure:
    """A log directory of a service that its agent found failed."""

    node: str
    reason: str


@dataclass(frozen=True, slots=True)
class SeenCluster:
    """What is known of a cluster beside what is recorded. `slow` is None where no window says anything, and `disks`
    None where no agent was heard lately though one had told of a failure."""

    kafka: KafkaSnapshot | None = None
    slow: tuple[SlowBroker, ...] | None = None
    hot: tuple[HotBroker, ...] | None = None
    """As `slow`."""
    forecasts: Forecasts | None = None
    """As `slow`: None where nothing was forecast."""
    holds: Mapping[str, datetime] = field(default_factory=dict)
    """By node, until when a demoted broker is kept so: what leads nothing cannot be measured."""
    goals: bool = True
    """Whether goals are looked at this time: that takes a walk over all partitions."""
    disks: tuple[DiskFailure, ...] | None = ()
    rates: Rates = field(default_factory=lambda: NO_RATES)
    """What is written to topics with a declared band."""
    odd_rates: Mapping[str, str] = field(default_factory=dict)
    """By topic, the reason of an anomaly of its rate that is open."""
    pairs: tuple[AnomalyFinding, ...] = ()
    """What is wrong of the pair in which it stands by."""
    load: KnownLoad = NO_LOAD
    """What is known of traffic, CPU and machines."""
    now: datetime = field(default_factory=lambda: datetime.min)


@dataclass(frozen=True, slots=True)
class AnomalyEvidence:
    """What was found, and the kinds that could be looked at."""

    findings: tuple[AnomalyFinding, ...]
    looked_at: frozenset[Kind]


NOTHING = AnomalyEvidence((), frozenset(Kind))


def evidence(view: ClusterView, seen: SeenCluster) -> AnomalyEvidence:
    """A cluster that was never converged serves nobody yet, nor does one that is being deleted: of these conditions
    alone tell of something. Of a deleted one nothing does."""
    if view.deleted or view.document is None:
        return NOTHING
    conditions = [*conditions_that_last(view, seen.now), *seen.pairs]
    if view.history.unreadable:
        reason = f"its history cannot be read: {view.history.unreadable}"
        found = [AnomalyFinding(Kind.CONDITION, UNREADABLE, reason), *conditions]
        return AnomalyEvidence(_once(found), frozenset({Kind.CONDITION}))
    if not view.roll.converged or view.requests.tombstone:
        return AnomalyEvidence(_once(conditions), frozenset(Kind))
    kafka = seen.kafka if seen.kafka is not None and seen.now - seen.kafka.at <= YOUNG else None
    found = [*_failed_brokers(view, kafka), *_failed_disks(view, seen), *_topics(view), *_maintenance(view)]
    found += [*_odd_rates(view, seen), *conditions]
    looked_at = {Kind.TOPIC_ANOMALY, Kind.MAINTENANCE_EVENT, Kind.CONDITION}
    if kafka is not None:
        found += failed_partitions(kafka)
        looked_at |= {Kind.BROKER_FAILURE, Kind.PARTITION_FAILURE}
    if kafka is not None and seen.goals:
        found += _goals(view, kafka, seen.load)
        looked_at.add(Kind.GOAL_VIOLATION)
    if seen.disks is not None:
        looked_at.add(Kind.DISK_FAILURE)
    found += _held_down(seen)
    if seen.slow is not None:
        found += _slow(view, seen.slow)
        looked_at.add(Kind.SLOW_BROKER)
    if seen.hot is not None:
        found += _hot(view, seen.hot)
        looked_at.add(Kind.HOT_BROKER)
    if seen.forecasts:
        found += short_capacity(view, seen.forecasts)
        looked_at.add(Kind.CAPACITY)
    return AnomalyEvidence(_once(found), frozenset(looked_at))


def _once(found: Collection[AnomalyFinding]) -> tuple[AnomalyFinding, ...]:
    """One finding for each kind and subject: the first reason, which is the gravest."""
    by_what: dict[tuple[Kind, str], AnomalyFinding] = {}
    for finding in found:
        by_what.setdefault(finding.what, finding)
    return tuple(by_what[what] for what in sorted(by_what))


def _failed_brokers(view: ClusterView, kafka: KafkaSnapshot | None) -> Iterator[AnomalyFinding]:
    for instance in view.alive():
        if instance.lost:
            at = f" since {instance.lost_at:%H:%M:%S} UTC" if instance.lost_at else ""
            reason = f"the cloud says that the VM of {instance.key} is gone{at}"
            yield AnomalyFinding(Kind.BROKER_FAILURE, instance.node, reason)
    if kafka is None:
        return
    live = kafka.live_brokers()
    for instance in serving_brokers(view):
        if instance.service_id not in live and not instance.lost:
            hosted = len(kafka.hosted_by(instance.service_id))
            known = kafka.brokers.get(instance.service_id)
            how = "is fenced" if known is not None else "is not registered"
            reason = f"broker {instance.service_id} ({instance.key}) {how}: {hosted} partitions lack a replica"
            yield AnomalyFinding(Kind.BROKER_FAILURE, instance.node, reason)


def serving_brokers(view: ClusterView) -> tuple[InstanceView, ...]:
    """Brokers that should serve: joined, and the newest of their node."""
    return tuple(i for i in view.brokers() if i.phase is Phase.JOINED)


def _failed_disks(view: ClusterView, seen: SeenCluster) -> Iterator[AnomalyFinding]:
    for failure in seen.disks or ():
        yield AnomalyFinding(Kind.DISK_FAILURE, failure.node, failure.reason)
    for instance in view.alive():
        broken = view.is_broken(instance)
        if broken:
            what = "the directory of the ZooKeeper server on" if instance.is_broker else "the disk of"
            yield AnomalyFinding(Kind.DISK_FAILURE, instance.node, f"{what} {instance.key} holds nothing: {broken}")


def _topics(view: ClusterView) -> Iterator[AnomalyFinding]:
    for name, trouble in sorted(view.topics.troubles.items()):
        yield AnomalyFinding(Kind.TOPIC_ANOMALY, name, f"{trouble.reason}: {trouble.message}")


def _odd_rates(view: ClusterView, seen: SeenCluster) -> Iterator[AnomalyFinding]:
    """What cannot be judged now stays as it is."""
    for name, band in sorted(bands(view).items()):
        rates, open_ = seen.rates.get(name, ()), seen.odd_rates.get(name)
        side = side_of(rates, band, seen.now, was_outside=open_ is not None)
        if side in (Side.BELOW, Side.ABOVE):
            yield AnomalyFinding(Kind.TOPIC_ANOMALY, rate_subject(name), reason_of(name, side, rates, band))
        elif side is None and open_ is not None:
            yield AnomalyFinding(Kind.TOPIC_ANOMALY, rate_subject(name), open_)


def _maintenance(view: ClusterView) -> Iterator[AnomalyFinding]:
    condition = view.conditions.get(MAINTENANCE)
    if condition is not None and condition.status:
        yield AnomalyFinding(Kind.MAINTENANCE_EVENT, "hosts", condition.message)


def _slow(view: ClusterView, slow: Collection[SlowBroker]) -> Iterator[AnomalyFinding]:
    nodes: Mapping[int, str] = {i.service_id: i.node for i in serving_brokers(view)}
    for one in slow:
        if one.broker in nodes:
            yield AnomalyFinding(Kind.SLOW_BROKER, nodes[one.broker], one.sentence)


def _hot(view: ClusterView, hot: Collection[HotBroker]) -> Iterator[AnomalyFinding]:
    nodes: Mapping[int, str] = {i.service_id: i.node for i in serving_brokers(view)}
    for one in hot:
        if one.broker in nodes:
            yield AnomalyFinding(Kind.HOT_BROKER, nodes[one.broker], one.sentence)


def _held_down(seen: SeenCluster) -> Iterator[AnomalyFinding]:
    for node, until in seen.holds.items():
        if seen.now < until:
            reason = f"it leads nothing, so it cannot be measured: it is tried again at {until:%Y-%m-%d %H:%M} UTC"
            yield AnomalyFinding(Kind.SLOW_BROKER, node, reason)


def _goals(view: ClusterView, kafka: KafkaSnapshot, load: KnownLoad) -> Iterator[AnomalyFinding]:
    """Sets and zones first, the hard ones; then the shares, where the spec says how far from even is too far."""
    found = misplaced(kafka, ground_of(view, kafka), lambda topic: topic_policy(view, topic))
    away, shared = ([d for d in found if d.rule is rule] for rule in (Rule.SETS, Rule.ZONES))
    if away:
        reason = f"{len(away)} partitions have replicas outside of their broker set: {away[0].words}"
        yield AnomalyFinding(Kind.GOAL_VIOLATION, SETS, reason)
    if shared:
        named = ", ".join(f"{d.name} on {list(d.replicas)}" for d in shared[:_NAMED])
        reason = f"{len(shared)} partitions have replicas in one zone though another has room: {named}"
        yield AnomalyFinding(Kind.GOAL_VIOLATION, ZONES, reason)
    policy = view.document.spec.balance if view.document else None
    receivers = [i.service_id for i in view.receivers()]
    if policy is None or not policy.continuous or not set(receivers) <= kafka.live_brokers():
        return
    threshold, uneven = float(policy.threshold_percent), unevenness(view, kafka, load)
    left = left_over(view, uneven)  # is no news: the last rebalance found nothing better
    for goal, percent in over_edge(uneven, threshold, left).items():
        yield AnomalyFinding(Kind.GOAL_VIOLATION, goal, missed_words({goal: percent}, threshold, left))
