"""Replicas moved to where they should be: one small throttled batch at a time.

    found -> topics.replication_requested (cause `gone` or `zones`) -> `replication_in_hand_step` -> ended

Replicas on brokers that nobody has, or that a person gave up, are a repair: they are replaced at any time, in a roll
too, whose gates they close.
Replicas that share a zone are moved apart at rest, where the spec says so, inside its windows and its budget of a day.
Where the spec wants leaders even (cause `leaders`) lists are put into another order: nothing is copied. The same lets
others lead what makes a broker hot (cause `hot`), by the advice of the last look at metrics.
Nothing begins while a broker is down, another replica is out of sync, or anybody moves anything.
"""

from datetime import timedelta

from controlplane.cluster.external_brokers import is_shared
from controlplane.cluster.healing_switches import why_not
from controlplane.cluster.holds import hold_on
from controlplane.cluster.observed.hot_brokers import YOUNG, HotNoted, ListNoted
from controlplane.cluster.offline_brokers import over_with
from controlplane.cluster.view import ClusterView
from controlplane.cluster.work_in_hand import has_work
from controlplane.converger.questions.moves.leaders import displaced_leaders
from controlplane.converger.questions.moves.placement_waits import unrest, why_apart_waits, why_no_repair, within_budget
from controlplane.converger.questions.moves.placement_work import leaves_leaders
from controlplane.converger.questions.topics.work import as_fact
from controlplane.converger.situation.decision import Decision, record
from controlplane.converger.situation.placement import PlacementSeen
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.moves.replication import WORDS, followed
from events import node_facts as facts_of_nodes, topic_facts as facts
from events.ids import derived_id
from planner.anomalies.kinds import Kind
from planner.drain.plan import Move
from planner.observed import KafkaSnapshot, TopicPartition
from planner.placement.deviations import Rule
from planner.quantities import brokers_named, human_bytes

KEPT = timedelta(hours=24)
"""How long leaders that were taken off a hot broker are not counted against those who lead them now."""


def lost_replicas_step(situation: Situation) -> Decision | None:
    """Follows the batch of replicas made anew, or begins the next one. Above whatever waits until every replica is in
    sync, and above drains, whose moves Kafka refuses where such a broker is in the list: else they wait for ever."""
    view, batch = situation.view, situation.view.topics.replication
    if batch is not None:
        return followed(situation, batch) if batch.cause == "gone" else None
    seen, kafka = situation.seen.placement, situation.seen.fresh_kafka(situation.now)
    if view.requests.offline and kafka is not None:
        over, why = over_with(view, kafka)
        if over:
            return record(f"{brokers_named(over)} given up no more: {why}", facts_of_nodes.OfflineFixEnded(over, why))
    if seen is None or not seen.repair.moves or kafka is None or view.topics.change is not None:
        return None
    if hold_on(view, situation.now) is not None or why_no_repair(situation, kafka):
        return None
    return _begin(view, "gone", seen.repair.moves, seen)


def placement_step(situation: Situation) -> Decision | None:
    """Begins the next batch of replicas moved apart, at rest. None when all is in place, or nothing may be done now."""
    seen, kafka = situation.seen.placement, situation.seen.fresh_kafka(situation.now)
    if seen is None or not seen.spread.moves or kafka is None or has_work(situation.view):
        return None
    if why_apart_waits(situation, seen, kafka):
        return None
    moves = within_budget(situation, seen.spread.moves)
    home = {d.name for d in seen.found if d.rule is Rule.SETS}
    return _begin(situation.view, "sets" if moves and moves[0].name in home else "zones", moves, seen)


def leader_order_step(situation: Situation) -> Decision | None:
    """Begins the next batch of lists in another order, at rest. Leaders follow by `housekeeping_step`, which comes
    first here: while elections are in vain no list is changed. None when leaders are as even as the spec asks."""
    view, seen = situation.view, situation.seen.placement
    kafka = situation.seen.fresh_kafka(situation.now)
    if seen is None or not seen.leaders or kafka is None or has_work(view):
        return None
    moved_at = view.topics.handed_over_at
    if moved_at is not None and situation.now - moved_at < KEPT:
        return None  # a broker was hot: fewer leaders are what it was given on purpose
    if why_not(view, Kind.GOAL_VIOLATION, situation.now) or displaced_leaders(kafka) or unrest(situation, kafka):
        return None
    lists = kafka.by_name
    moves = tuple(Move(n.topic, n.partition, lists[n].replicas, after, 0) for n, after in sorted(seen.leaders.items()))
    limit = view.document.spec.balance.threshold_percent if view.document else 0
    reason = (
        f"{len(moves)} lists: leaders are {seen.leaders_percent:.0f} % from their even share, {limit} % are allowed"
    )
    return _request(view, "leaders", moves, reason)


def hot_broker_step(situation: Situation) -> Decision | None:
    """Begins the next batch of lists by which others lead what a hot broker does. None without young advice."""
    view, seen, hot = situation.view, situation.seen.placement, situation.seen.background.hot
    kafka = situation.seen.fresh_kafka(situation.now)
    if hot is None or not hot.lists or seen is None or kafka is None or has_work(view) or not is_young(situation, hot):
        return None
    if is_shared(view) or leaves_leaders(view):
        return None
    if why_not(view, Kind.HOT_BROKER, situation.now) or displaced_leaders(kafka) or unrest(situation, kafka):
        return None
    moves = tuple(Move(n.topic, n.partition, n.before, n.after, 0) for n in hot.lists if _still_fits(n, kafka))
    return _request(view, "hot", moves, hot.reason) if moves else None


def is_young(situation: Situation, hot: HotNoted) -> bool:
    """Whether the advice is of now, and of after the last leaders were handed over."""
    moved_at = situation.view.topics.handed_over_at
    return situation.now - hot.at <= YOUNG and (moved_at is None or hot.at > moved_at)


def _still_fits(wanted: ListNoted, kafka: KafkaSnapshot) -> bool:
    p = kafka.by_name.get(TopicPartition(wanted.topic, wanted.partition))
    if p is None or p.is_moving or p.replicas != wanted.before or set(wanted.after) != set(wanted.before):
        return False
    return wanted.after[0] in p.isr and wanted.after[0] in kafka.live_brokers()


def _begin(view: ClusterView, cause: str, moves: tuple[Move, ...], seen: PlacementSeen) -> Decision:
    copied = sum(m.bytes for m in moves)
    rule = Rule(cause)
    names = {m.name for m in moves}
    first = next(d.words for d in seen.found if d.rule is rule and d.name in names)
    reason = (
        f"{len(moves)} of {sum(d.rule is rule for d in seen.found)} partitions, {human_bytes(copied)} to copy: {first}"
    )
    return _request(view, cause, moves, reason, counted=0 if cause == "gone" else copied)


def _request(view: ClusterView, cause: str, moves: tuple[Move, ...], reason: str, *, counted: int = 0) -> Decision:
    request = facts.ReplicationRequested(
        batch=derived_id("replication", view.uid, str(view.topics.batches + 1)),
        moves=tuple(as_fact(m) for m in moves),
        reason=reason,
        cause=cause,
        bytes=counted,
    )
    return record(f"{WORDS[cause]}: {reason}", request)
