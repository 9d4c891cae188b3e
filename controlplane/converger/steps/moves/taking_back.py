"""Moves that hang go back to their replicas before; then their batch is planned anew, or put off where a broker that
does not serve needs a new VM first.

    hung -> cancelled where rule F10 lets it -> drain.plan_failed | rebalance.put_off | topics.replication_ended
                                             -> a dead target: node.replace_requested beside it
"""

from collections.abc import Sequence

from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.moves.batches import MoveBatch, Of
from controlplane.converger.questions.moves.blocked_moves import detours
from controlplane.converger.questions.moves.dead_targets import dead_target, new_vm_for
from controlplane.converger.questions.topics.work import as_move
from controlplane.converger.situation.decision import Decision, act, record, wait
from controlplane.converger.situation.effects import CancelMoves, Reassign
from controlplane.converger.situation.situation import Situation
from controlplane.runtime.backoff import delay_s
from events import facts, topic_facts
from planner.drain.residual import residual
from planner.healing import HealingRefusal
from planner.observed import KafkaSnapshot, PartitionSeen, TopicPartition
from planner.quantities import named
from planner.stuck_moves import Diagnosis


def take_back(situation: Situation, batch: MoveBatch, kafka: KafkaSnapshot) -> Decision | None:
    """Cancels what hangs; then the batch is over as it was. None where what may not be cancelled holds nobody up."""
    hung = situation.view.moves.stuck
    running = [p for p in kafka.moving() if str(p.name) in hung.taking_back or _shares_the_dead(situation, batch, p)]
    safe = [p.name for p in running if batch.may_take_back(p)]
    due = due_to_be_taken_back(situation, safe)
    if due:
        return act(f"taking back {len(due)} moves that hang: {named(due)}; {hung.why}", CancelMoves(due))
    if safe:
        return _not_yet(situation, safe)
    if running:
        # Nothing goes on below a drain; other batches wait beside what mends the broker they need.
        return _go_elsewhere(situation, batch, kafka, running) if batch.of is Of.DRAIN else None
    return _over(situation, batch, kafka)


def due_to_be_taken_back(situation: Situation, names: Sequence[TopicPartition]) -> tuple[TopicPartition, ...]:
    """Those that were not asked to be taken back a moment ago."""
    tried = situation.seen.moves.taken_back
    waits = {n for n in names if n in tried and situation.seconds_since(tried[n].asked_at) < delay_s(tried[n].asked)}
    return tuple(n for n in names if n not in waits)


def _not_yet(situation: Situation, names: Sequence[TopicPartition]) -> Decision:
    tried = situation.seen.moves.taken_back
    said = next((tried[n].refused for n in names if tried[n].refused), "")
    why = f": {said}" if said else ""
    sentence = (
        f"{len(names)} moves that hang were to be taken back and still run{why}; asked again, every 5 min at last"
    )
    return wait(WaitReason.TAKING_BACK, sentence)


def _go_elsewhere(
    situation: Situation, batch: MoveBatch, kafka: KafkaSnapshot, left: Sequence[PartitionSeen]
) -> Decision:
    """Of moves that may not be taken back: a broker that serves gets what one that does not was to have."""
    live = kafka.live_brokers()
    dead = {b for p in left for b in p.target if b not in live and b not in p.isr}
    around = detours(situation.view, kafka, [p for p in left if dead.intersection(p.target)], dead)
    if around:
        sentence = f"{len(around)} moves that hang and cannot be taken back go elsewhere: {named(tuple(around))}"
        return act(f"{sentence}; {situation.view.moves.stuck.why}", Reassign(around))
    planned = {p.name for p in batch.running}
    stuck = next((p.name for p in left if p.name in planned), None)
    if stuck is None:
        return wait(WaitReason.DRAIN_MOVES, f"{len(left)} moves that hung are made elsewhere", patience_s=3600)
    sentence = f"{stuck} hangs and cannot be taken back: too few of its replicas before are in sync"
    return wait(WaitReason.REASSIGNMENT_STUCK, sentence, patience_s=0)


def _over(situation: Situation, batch: MoveBatch, kafka: KafkaSnapshot) -> Decision | None:
    hung, rebalance = situation.view.moves.stuck, situation.view.moves.rebalance
    if batch.of is Of.REBALANCE and rebalance is not None and rebalance.cancelled:
        return None  # a person wants no more of it: it ends by itself, now that nothing of it runs
    left, replacing, dead = "", tuple[object, ...](), None
    if hung.diagnosis == Diagnosis.TARGET_DEAD:
        dead = dead_target(situation, kafka, hung.brokers)
    if dead is not None:
        new_vm = new_vm_for(situation, kafka, dead, hung.cured_at or situation.now, hung.why)
        if isinstance(new_vm, HealingRefusal):
            left = f"; {dead.key} gets no new VM: {new_vm.reason}"
        else:
            replacing = new_vm
    if dead is not None and replacing:
        words = f"broker {dead.service_id} does not serve: {hung.why}"
        ended = (
            facts.DrainAbandoned(batch.id, words) if batch.of is Of.DRAIN else _ended(situation, batch, kafka, words)
        )
        return record(f"the {batch.of} is put off and {dead.key} replaced first: {hung.why}", ended, *replacing)
    words = f"{len(hung.taking_back)} moves hung: {hung.why}{left}"
    sentence = f"planning again, {len(hung.taking_back)} moves were taken back: {hung.why}{left}"
    return record(sentence, _ended(situation, batch, kafka, words))


def _ended(situation: Situation, batch: MoveBatch, kafka: KafkaSnapshot, why: str) -> object:
    """What lets the batch be planned anew on what is left of it."""
    if batch.of is Of.DRAIN:
        return facts.DrainPlanFailed(batch.id, why, infeasible=False)
    if batch.of is Of.REBALANCE:
        plan = situation.seen.plans.rebalance
        done = residual(plan.copies, kafka, ()).finished if plan is not None else ()
        return facts.RebalancePutOff(batch.id, why, len(done), sum(m.bytes for m in done))
    replication, seen = situation.view.topics.replication, kafka.by_name
    moves = map(as_move, replication.moves if replication is not None else ())
    there = sum(m.name in seen and not seen[m.name].is_moving and seen[m.name].replicas == m.after for m in moves)
    return topic_facts.ReplicationEnded(batch.id, there, why)


def _shares_the_dead(situation: Situation, batch: MoveBatch, partition: PartitionSeen) -> bool:
    """A move of that batch that is younger, and waits for the same dead broker: it is to have it, or to keep it."""
    kafka, hung = situation.seen.kafka, situation.view.moves.stuck
    if kafka is None or hung.diagnosis != Diagnosis.TARGET_DEAD:
        return False
    waits = set(partition.target).intersection(hung.brokers) - kafka.live_brokers()
    return bool(waits) and any(p.name == partition.name for p in batch.running)
