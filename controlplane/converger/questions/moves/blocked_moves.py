"""Moves that can never end, as a broker they name is gone for good: which drains need such a broker, and where what is
under way can go in its place. Kafka ends a move once every replica of its target is in sync, and not before.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from controlplane.cluster.broker_sets import broker_sets
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.situation.situation import Situation
from planner.drain.residual import residual
from planner.observed import KafkaSnapshot, PartitionSeen, TopicPartition
from planner.stuck_moves import may_take_back


def in_the_way(
    situation: Situation, kafka: KafkaSnapshot, outgoing: Sequence[int], targets: Sequence[int] = ()
) -> list[InstanceView]:
    """Brokers beside those that a drain empties which are gone for good and that it needs: they hold replicas of the
    same partitions, or are its targets: a move of a partition that names one can never end. All that are gone where a
    partition has a replica on every broker that is left: it goes to whoever is made for one of them. No such drain is
    begun, and one in hand is put off, until they were replaced."""
    gone = [i for i in situation.view.brokers() if i.lost and i.service_id not in outgoing]
    gone = [i for i in gone if i.lost_at and situation.seconds_since(i.lost_at) >= situation.lost_after_s]
    if not gone:
        return []
    leaving = set(outgoing)
    stay = {i.service_id for i in situation.view.receivers()} - leaving
    if any(leaving.intersection(p.target) and stay.issubset(p.target) for p in kafka.partitions):
        return gone
    needed = {r for p in kafka.partitions if leaving.intersection(p.replicas) for r in p.replicas}.union(targets)
    return [i for i in gone if i.service_id in needed]


def in_the_way_of_drain(
    situation: Situation, kafka: KafkaSnapshot, outgoing: Collection[int]
) -> tuple[tuple[TopicPartition, ...], frozenset[TopicPartition]]:
    """Of the rebalance in hand: moves that would not end and that nobody needs, as a broker to be emptied does not
    serve; and all its moves that run. One that goes there is among the first where rule F10 lets it be taken back; one
    of which that broker alone has a copy has no leader, taken back or not."""
    plan, rebalance = situation.seen.plans.rebalance, situation.view.moves.rebalance
    if plan is None or rebalance is None or situation.seen.plans.rebalance_sha256 != rebalance.plan.sha256:
        return (), frozenset()
    running = [kafka.by_name[m.name] for m in residual(plan.copies, kafka, ()).running]
    dead = set(outgoing) - kafka.live_brokers()
    onto = (p for p in running if dead.intersection(p.adding) and may_take_back(p))
    alone = (p for p in running if dead.issuperset(r for r in p.replicas if r not in p.adding))
    # Who is to get a copy, serves and does not lead has none yet: of one that is down nobody knows.
    bare = (p for p in alone if not kafka.has_source(p) and kafka.live_brokers().issuperset(p.adding))
    back = {p.name for p in (*onto, *bare)}
    return tuple(sorted(back)), frozenset(p.name for p in running)


def counted_on(partition: PartitionSeen, dead: Collection[int]) -> tuple[int, ...]:
    """Those of the dead that Kafka has not missed yet: by its word they lead it, or are in sync."""
    return tuple(b for b in dead if b in partition.isr or b == partition.leader)


def detours(
    view: ClusterView, kafka: KafkaSnapshot, stuck: Sequence[PartitionSeen], dead: Collection[int]
) -> Mapping[TopicPartition, tuple[int, ...]]:
    """New targets of moves that wait for the `dead` and may not be taken back, as too few of the old replicas are in
    sync: each dead one's place is taken by the live broker that has the fewest replicas, of the rack in which the
    partition has the fewest that live, its own before others. Two may be in one rack where there is no other way: the
    move would never end, nor would anybody replace the dead before it; the spread is mended as any other is. A
    partition for which there is no broker is left out, and one without a leader that serves: one of the dead may have
    the only copy, which Kafka would drop with its place (3.x with ZooKeeper stops at once who was being added and is
    no longer named: `KafkaController.updateCurrentReassignment`). So is one in whose ISR Kafka still counts one of the
    dead: it would shrink by our word."""
    racks = {i.service_id: i.planned.rack for i in view.brokers()}
    load = {i.service_id: len(kafka.hosted_by(i.service_id)) for i in view.receivers()}
    there = [b for b in sorted(load, key=lambda b: (load[b], b)) if b in kafka.live_brokers() and b not in dead]
    sets = broker_sets(view)
    found: dict[TopicPartition, tuple[int, ...]] = {}
    for p in stuck:
        if not kafka.has_source(p) or counted_on(p, dead):
            continue
        target = list(p.target)
        for place, broker in enumerate(target):
            if broker in dead:
                taken = Counter(racks.get(b, "") for b in target if b not in dead)
                home = sets.may_hold(p.name.topic, there)
                free = [b for b in there if b in home and b not in p.replicas and b not in target]
                free.sort(key=lambda b: (taken[racks[b]], racks[b] != racks.get(broker)))
                target[place] = free[0] if free else broker
        if set(target).isdisjoint(dead):
            found[p.name] = tuple(target)
    return found
