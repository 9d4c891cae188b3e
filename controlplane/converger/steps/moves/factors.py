"""Topics whose replication factor a person changed: one small throttled batch at a time, planned anew before each.

    replication_factor.requested -> topics.replication_requested (cause `factor`) -> `replication_in_hand_step` -> ...
    -> replication_factor.ended

Nothing is remembered but the wish: what is left is read off Kafka, so a server that dies loses nothing of it.
"""

from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.moves.factor_work import (
    batch_of,
    factor_moves,
    factor_progress,
    first_asked,
    over_with_factor,
)
from controlplane.converger.questions.moves.placement_waits import unrest
from controlplane.converger.questions.topics.work import as_fact
from controlplane.converger.situation.decision import Decision, record, wait
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.moves.replication import PATIENCE_S, WORDS
from events import topic_facts as facts
from events.ids import derived_id
from planner.quantities import human_bytes


def factor_step(situation: Situation) -> Decision | None:
    """Begins the next batch, or ends what is over or cannot be had. None when nobody asked, or a batch is in hand."""
    view, kafka = situation.view, situation.seen.fresh_kafka(situation.now)
    if not view.topics.factors or kafka is None or view.topics.replication is not None:
        return None
    over, why = over_with_factor(view, kafka)
    if over:
        return _end(over, why)
    topics, asked = first_asked(view)
    held = unrest(situation, kafka)
    if held:
        return _waits(f"{factor_progress(kafka, topics, asked.factor)}; {held}")
    plan = factor_moves(view, kafka, topics, asked.factor, below_min_isr=asked.below_min_isr)
    batch = batch_of(kafka, plan)
    if batch:
        copied = sum(m.bytes for m in batch)
        reason = (
            f"{len(batch)} of {len(plan.moves)} partitions, {human_bytes(copied)} to copy, "
            f"{asked.factor} replicas: {asked.reason}"
        )
        request = facts.ReplicationRequested(
            batch=derived_id("replication", view.uid, str(view.topics.batches + 1)),
            moves=tuple(as_fact(m) for m in batch),
            reason=reason,
            cause="factor",
        )
        return record(f"{WORDS['factor']}: {reason}", request)
    if plan.short or plan.moves:
        return _end(
            topics, f"given up: {plan.short or 'no broker that may take a replica has room for it on its disk'}"
        )
    name, words = next(iter(plan.left.items()))
    return _waits(f"{factor_progress(kafka, topics, asked.factor)}; {name}: {words}")


def _end(topics: tuple[str, ...], why: str) -> Decision:
    return record(f"{WORDS['factor']} of {', '.join(topics)}: {why}", facts.ReplicationFactorEnded(topics, why))


def _waits(words: str) -> Decision:
    return wait(WaitReason.TOPIC_REPLICAS, f"{WORDS['factor']}: {words}", patience_s=PATIENCE_S)
