"""The moves of Kedge's own that are in hand: of a drain, a batch of replicas, a rebalance. Pure, read off Kafka."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from controlplane.cluster.view import ClusterView
from controlplane.converger.questions.topics.work import as_move
from controlplane.converger.situation.situation import Situation
from planner.drain.residual import residual
from planner.observed import KafkaSnapshot, PartitionSeen, TopicPartition
from planner.stuck_moves import may_take_back


class Of(StrEnum):
    """Whose moves they are."""

    DRAIN = "drain"
    REPLICAS = "batch of replicas"
    REBALANCE = "rebalance"


@dataclass(frozen=True, slots=True)
class MoveBatch:
    """`tries` changes when it is planned anew; `running` are moves that go where its plan wants them. `before`: the
    replicas of partitions that may be fewer then than their min ISR asks for."""

    of: Of
    id: str
    tries: int
    running: tuple[PartitionSeen, ...]
    before: Mapping[TopicPartition, tuple[int, ...]] = field(default_factory=dict)

    def may_take_back(self, partition: PartitionSeen) -> bool:
        """Rule F10; a topic that is to have more replicas goes back to the few that it had, if those are in sync."""
        before = self.before.get(partition.name)
        if before is None:
            return may_take_back(partition)
        return sum(r in before for r in partition.isr) >= min(partition.min_isr, len(before))

    def is_taken_back(self, view: ClusterView) -> bool:
        """Whether moves of it hung and are being taken back."""
        return view.moves.stuck.is_taking_back(self.id, self.tries)


def batches_in_hand(situation: Situation, kafka: KafkaSnapshot) -> tuple[MoveBatch, ...]:
    """In the order in which they are looked after; one whose plan cannot be read now has no moves."""
    found = (_drain(situation, kafka), _replicas(situation.view, kafka), _rebalance(situation, kafka))
    return tuple(b for b in found if b is not None)


def repair_in_hand(view: ClusterView, kafka: KafkaSnapshot) -> MoveBatch | None:
    """The batch of replicas that are made anew, which goes before drains."""
    batch = view.topics.replication
    return _replicas(view, kafka) if batch is not None and batch.cause == "gone" else None


def _drain(situation: Situation, kafka: KafkaSnapshot) -> MoveBatch | None:
    drain, plan, seen = situation.view.moves.drain, situation.seen.plans.drain, situation.seen
    if drain is None:
        return None
    known = plan is not None and seen.plans.drain_sha256 == drain.plan.sha256
    running = residual(plan, kafka, drain.outgoing).running if plan is not None and known else ()
    return MoveBatch(Of.DRAIN, drain.id, drain.planning.tries, tuple(kafka.by_name[m.name] for m in running))


def _rebalance(situation: Situation, kafka: KafkaSnapshot) -> MoveBatch | None:
    rebalance, plan, seen = situation.view.moves.rebalance, situation.seen.plans.rebalance, situation.seen
    if rebalance is None:
        return None
    known = plan is not None and seen.plans.rebalance_sha256 == rebalance.plan.sha256
    running = residual(plan.copies, kafka, ()).running if plan is not None and known else ()
    return MoveBatch(
        Of.REBALANCE, rebalance.id, rebalance.planning.tries, tuple(kafka.by_name[m.name] for m in running)
    )


def _replicas(view: ClusterView, kafka: KafkaSnapshot) -> MoveBatch | None:
    batch = view.topics.replication
    if batch is None:
        return None
    moves, seen = {m.name: m for m in map(as_move, batch.moves)}, kafka.by_name
    running = [seen[n] for n, m in moves.items() if n in seen and seen[n].is_moving and seen[n].target == m.after]
    return MoveBatch(Of.REPLICAS, batch.id, 0, tuple(running), {n: m.before for n, m in moves.items()})
