"""What of a cluster's replicas is not where it should be, and the next batch that would mend it. Pure.

The best placement is not kept as a list, but as the rules it follows from: so a new topic, a growth or a move by hand
is judged the moment it is seen, and what nobody has to move stays where it is.
"""

from controlplane.cluster.broker_sets import broker_sets
from controlplane.cluster.external_brokers import external_brokers, is_shared
from controlplane.cluster.offline_brokers import given_up, given_up_replicas
from controlplane.cluster.view import ClusterView
from controlplane.converger.questions.disk_room import room_by_broker
from controlplane.converger.situation.placement import IN_PLACE, PlacementSeen
from controlplane.kafka.gates import may_move
from controlplane.runtime.once import once
from events.spec.housekeeping import Placement
from events.spec.topic_tiers import anti_affinity_of
from planner.demotion import Orders
from planner.observed import KafkaSnapshot, PartitionSeen
from planner.placement.corrections import Corrections, corrections
from planner.placement.deviations import Rule, misplaced
from planner.placement.leaders import even_orders
from planner.placement.policy import ClusterBrokers, TopicPolicy
from planner.rebalancing.imbalance import LEADERS_ALONE, deviations

DEFAULTS = Placement()


def placement_of(view: ClusterView, kafka: KafkaSnapshot) -> PlacementSeen:
    """What one look at the metadata tells. Nothing is broken: no search is begun."""
    ground = ground_of(view, kafka)
    found = misplaced(kafka, ground, lambda topic: topic_policy(view, topic))
    leaders, percent = _uneven_leaders(view, kafka, ground)
    if not found:
        return PlacementSeen(leaders=leaders, leaders_percent=percent) if leaders else IN_PLACE
    allowed = view.document.spec.rollout.allow_unavailable if view.document else ()
    excused, room = frozenset(allowed), room_by_broker(kafka)

    def refusal(p: PartitionSeen, after: tuple[int, ...]) -> str:
        gate = may_move(p, after, allow_unavailable=excused)
        return "" if gate.open else gate.reason

    gone = [d for d in found if d.rule is Rule.GONE]
    away, shared = ([d for d in found if d.rule is rule] for rule in (Rule.SETS, Rule.ZONES))
    home = corrections(kafka, away, ground, room, refusal=refusal)
    apart = Corrections() if home.moves else corrections(kafka, shared, ground, room, refusal=refusal)
    return PlacementSeen(
        found,
        corrections(kafka, gone, ground, room, refusal=refusal),
        Corrections(home.moves or apart.moves, {**home.left, **apart.left}),
        leaders,
        percent,
    )


def _uneven_leaders(view: ClusterView, kafka: KafkaSnapshot, ground: ClusterBrokers) -> tuple[Orders, float]:
    """The lists to be put into another order, and how uneven leaders are: none below the spec's threshold."""
    if not evens_leaders(view) or view.document is None:
        return {}, 0.0
    percent = deviations(kafka, ground.receivers, choice=LEADERS_ALONE, sets=ground.sets).get("leaders", 0.0)
    if percent <= view.document.spec.balance.threshold_percent:
        return {}, percent
    return even_orders(kafka, ground.receivers, sets=ground.sets), percent


def names_unknown_brokers(kafka: KafkaSnapshot) -> bool:
    """Whether a partition out of sync has a replica on a broker Kafka does not know. Asked at every tick of a roll."""
    return any(r not in kafka.brokers for p in kafka.under_replicated() for r in p.replicas)


def ground_of(view: ClusterView, kafka: KafkaSnapshot) -> ClusterBrokers:
    """The brokers there are: those Kafka knows, and those that are Kedge's or others', serving or not. Slow ones that
    lead nothing get no copies either, and what a person gave up is no broker any more while it does not serve."""
    known = {b: seen.rack for b, seen in kafka.brokers.items()}
    known |= {b: "" for b in external_brokers(view) if b not in known}
    ours = {i.service_id: i.planned.rack for i in view.brokers()}
    lost = given_up(view, kafka)
    racks = {b: rack for b, rack in {**known, **ours}.items() if b not in lost}
    slow = {d.broker for d in view.requests.demotions.values()}
    receivers = {i.service_id for i in view.receivers()} & kafka.live_brokers() - slow
    zones = len(set(ours.values()) or set(known.values()))
    return ClusterBrokers(racks, frozenset(receivers), zones, lost, given_up_replicas(view, kafka), broker_sets(view))


def topic_policy(view: ClusterView, topic: str) -> TopicPolicy:
    """What the spec and the topic's own document ask of its replicas."""
    placement = placement_spec(view)
    declared = view.topics.by_name.get(topic)
    if declared is None:
        return TopicPolicy(anti_affinity_of(placement, topic, None))
    asked = declared.declared
    return TopicPolicy(anti_affinity_of(placement, topic, asked.tier), asked.replicas)


def placement_spec(view: ClusterView) -> Placement:
    """What the spec in force says of places."""
    return view.document.spec.balance.placement if view.document else DEFAULTS


@once
def corrects(view: ClusterView) -> bool:
    """Whether the spec has replicas moved apart. Nothing is moved in a cluster that others run in part."""
    return placement_spec(view).correct and not is_shared(view)


def leaves_leaders(view: ClusterView) -> bool:
    """Whether the spec has leaders stay where they are, but for what Kedge does itself."""
    return view.document is not None and view.document.spec.balance.preferred_leaders == "leave"


@once
def evens_leaders(view: ClusterView) -> bool:
    """Whether the spec has lists put into another order for even leaders. Never in a cluster others run in part."""
    policy = view.document.spec.balance if view.document else None
    return policy is not None and policy.preferred_leaders == "even" and not is_shared(view)
