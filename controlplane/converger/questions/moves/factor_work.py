"""What is left of the replication factors that people asked for, and what moves next. Pure."""

from collections.abc import Collection, Sequence

from controlplane.cluster.broker_sets import broker_sets
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.topics import FactorView
from controlplane.converger.questions.disk_room import overfull_disk, untold_disks
from controlplane.kafka.gates import may_move
from events.quantities import counted
from planner.drain.plan import Move
from planner.observed import KafkaSnapshot, PartitionSeen
from planner.rebalancing.factor import FactorPlan, factor_plan, joined, next_batch


def over_with_factor(view: ClusterView, kafka: KafkaSnapshot) -> tuple[tuple[str, ...], str]:
    """Topics of whose request nothing is left, and why; none while replicas are still to come or to go."""
    by_why: dict[str, list[str]] = {}
    for topic, asked in sorted(view.topics.factors.items()):
        why = _over(view, kafka, topic, asked)
        if why:
            by_why.setdefault(why, []).append(topic)
    if not by_why:
        return (), ""
    why, topics = next(iter(by_why.items()))
    return tuple(topics), why


def first_asked(view: ClusterView) -> tuple[tuple[str, ...], FactorView]:
    """The topics that were asked for first, and the others that are to have the same. Raises ValueError for none."""
    factors = view.topics.factors
    first = min(factors.items(), key=lambda one: (one[1].requested_at, one[0]))[1]
    same = (first.factor, first.below_min_isr)
    return tuple(sorted(t for t, f in factors.items() if (f.factor, f.below_min_isr) == same)), first


def factor_moves(
    view: ClusterView, kafka: KafkaSnapshot, topics: Sequence[str], factor: int, *, below_min_isr: bool
) -> FactorPlan:
    """All that is to move of these topics, each move one that lets its partition take writes meanwhile. Raises
    ValueError for a topic that is not there."""
    excused = frozenset(view.document.spec.rollout.allow_unavailable if view.document else ())

    def refusal(p: PartitionSeen, after: tuple[int, ...]) -> str:
        gate = may_move(p, after, allow_unavailable=excused)
        return "" if gate.open else gate.reason

    sets, receivers = broker_sets(view), _receivers(view, kafka)
    by_set: dict[frozenset[int], list[str]] = {}
    for topic in topics:
        by_set.setdefault(sets.may_hold(topic, receivers), []).append(topic)
    plans = [
        factor_plan(kafka, able, own, factor, below_min_isr=below_min_isr, refusal=refusal)
        for able, own in by_set.items()
    ]
    return joined(plans)


def batch_of(kafka: KafkaSnapshot, plan: FactorPlan) -> tuple[Move, ...]:
    """The next moves, that fit on the disks as these are told now."""
    batch = next_batch(kafka, plan.moves)
    while batch and (untold_disks(kafka, batch) or overfull_disk(kafka, batch)):
        batch = batch[:-1]
    return batch


def factor_progress(kafka: KafkaSnapshot, topics: Collection[str], factor: int) -> str:
    """`4 of 12 partitions have 3 replicas`."""
    parts = [p for topic in topics for p in kafka.by_topic.get(topic, ())]
    done = sum(_has(p, factor) for p in parts)
    return f"{done} of {counted(len(parts), 'partition')} have {counted(factor, 'replica')}"


def _over(view: ClusterView, kafka: KafkaSnapshot, topic: str, asked: FactorView) -> str:
    declared = view.topics.by_name.get(topic)
    if declared is not None:
        return f"a document declares {counted(declared.declared.replicas, 'replica')} now"
    parts = kafka.by_topic.get(topic, ())
    if not parts:
        return "there is no such topic any more"
    return (
        f"every partition has {counted(asked.factor, 'replica')}" if all(_has(p, asked.factor) for p in parts) else ""
    )


def _has(p: PartitionSeen, factor: int) -> bool:
    return not p.is_moving and len(p.replicas) == factor


def _receivers(view: ClusterView, kafka: KafkaSnapshot) -> frozenset[int]:
    return frozenset(i.service_id for i in view.receivers()) & kafka.live_brokers()
