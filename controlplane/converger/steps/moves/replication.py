"""Replicas added, taken away or moved apart: a small batch at a time, throttled, gated and seen through as drains are.

A new batch begins at rest only, when nobody moves anything. What runs is read off Kafka each tick; finished moves are
never undone. A batch that waits for a broker that is not there is taken back: its partitions are as they were.
"""

from collections.abc import Sequence

from controlplane.cluster.latency_brake import share_of
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.stuck_moves import StuckMovesView
from controlplane.cluster.views.topics import ReplicationView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.moves.latency_brake import words_of
from controlplane.converger.questions.moves.replication import copy_rate_bytes_per_s, others_are_whole
from controlplane.converger.questions.rolls.batch import throttle_effects
from controlplane.converger.questions.topics.work import as_fact, as_move, topic_work
from controlplane.converger.situation.decision import Decision, act, record, wait
from controlplane.converger.situation.effects import CancelMoves, ClearThrottles, Reassign
from controlplane.converger.situation.situation import Situation
from controlplane.kafka.gates import may_move
from controlplane.kafka.throttle import ThrottlePlan, throttle_for
from events import topic_facts as facts
from events.ids import derived_id
from planner.drain.plan import Move
from planner.drain.throttle import floor
from planner.observed import KafkaSnapshot, PartitionSeen
from planner.quantities import human_bytes

PATIENCE_S = 3600.0

WORDS = {
    "topics": "replicas of topics",
    "zones": "replicas moved apart",
    "sets": "replicas moved to their broker set",
    "gone": "replicas made anew",
    "leaders": "lists put into another order",
    "hot": "leaders of a hot broker handed over",
    "factor": "replication factor",
}
"""What a batch is called, by its cause."""


def replication_in_hand_step(situation: Situation) -> Decision | None:
    """Follows the batch in hand to its end. None when there is none, or a lost VM is to be mended first."""
    batch = situation.view.topics.replication
    return None if batch is None or batch.cause == "gone" else followed(situation, batch)


def followed(situation: Situation, batch: ReplicationView) -> Decision | None:
    """What the batch needs now. Replicas made anew give way to nothing that is below their rung."""
    view, kafka = situation.view, situation.seen.fresh_kafka(situation.now)
    if kafka is None:
        return None
    moves = [as_move(m) for m in batch.moves]
    seen = kafka.by_name
    running = [m for m in moves if m.name in seen and seen[m.name].is_moving and seen[m.name].target == m.after]
    done = sum(m.name in seen and not seen[m.name].is_moving and seen[m.name].replicas == m.after for m in moves)
    waiting = [m for m in moves if m.name in seen and not seen[m.name].is_moving and seen[m.name].replicas == m.before]
    missing = sorted({b for m in (*running, *waiting) for b in m.added} - kafka.live_brokers())
    if missing:
        return _taken_back(situation, batch, kafka, running, done, missing)
    if batch.cause != "gone" and (view.moves.drain is not None or any(i.lost for i in view.alive())):
        return None
    words, braked = WORDS[batch.cause], "; ".join(("", *filter(None, [words_of(situation)])))
    startable = [m for m in waiting if _gate(situation, seen[m.name], m)]
    if view.moves.stuck.is_taking_back(batch.id, 0):
        startable = []  # some of it hung: what was taken back begins with the next batch
    if startable and batch.cause != "topics" and not running and not others_are_whole(view, kafka):
        startable = []  # nothing of it has begun: it is put off, and found again once the cluster is whole
    if startable:
        throttle = _throttle(view, kafka, batch, [*running, *startable])
        sentence = f"{words}: handing {len(startable)} moves to Kafka, {len(running)} running{braked}"
        return act(sentence, *throttle_effects(throttle), Reassign({m.name: m.after for m in startable}))
    if running and not any(kafka.has_source(seen[m.name]) for m in running):
        return None  # who has the only copies does not serve, and is mended below
    if running:
        sentence = f"{words}: {done} of {len(moves)} moves done, {len(running)} running{braked}"
        throttle = _throttle(view, kafka, batch, running)
        effects = () if throttle.seen == kafka.throttles else throttle_effects(throttle)
        return wait(WaitReason.TOPIC_REPLICAS, sentence, *effects, patience_s=PATIENCE_S)
    if kafka.throttles.any and not kafka.moving():
        return act(f"{words}: done, clearing the throttles", ClearThrottles())
    reason = f"{done} of {len(moves)} moves done"
    return record(f"{words}: {reason}", facts.ReplicationEnded(batch.id, done, reason))


def replication_step(situation: Situation) -> Decision | None:
    """Begins the next batch, at rest. None when replicas are as declared, or somebody moves something."""
    view, seen = situation.view, situation.seen
    kafka = seen.fresh_kafka(situation.now)
    if kafka is None or seen.topics is None or view.topics.change is not None or kafka.moving():
        return None
    asked = seen.topics.asked & view.topics.by_name.keys()
    work = topic_work(view, kafka, seen.topics.configs, asked)
    if not work.moves:
        return None
    topics = sorted({m.topic for m in work.moves})
    copied = sum(m.bytes for m in work.moves)
    reason = f"{len(work.moves)} partitions of {', '.join(topics[:3])}, {human_bytes(copied)} to copy"
    batch = derived_id("replication", view.uid, str(view.topics.batches + 1))
    request = facts.ReplicationRequested(batch, tuple(as_fact(m) for m in work.moves), reason)
    return record(f"replicas of topics: {reason}", request)


def _taken_back(
    situation: Situation,
    batch: ReplicationView,
    kafka: KafkaSnapshot,
    running: Sequence[Move],
    done: int,
    missing: list[int],
) -> Decision | None:
    """Only where the original replicas keep min ISR; else it is waited for, and what mends the broker goes on."""
    seen = kafka.by_name
    stuck = [m for m in running if set(m.added) & set(missing)]
    safe = [
        m for m in stuck if sum(b in m.before for b in seen[m.name].isr) >= min(seen[m.name].min_isr, len(m.before))
    ]
    named, words = ", ".join(map(str, missing)), WORDS[batch.cause]
    if safe:
        sentence = f"{words}: broker {named} is not there, taking {len(safe)} moves back"
        return act(sentence, CancelMoves(tuple(m.name for m in safe)))
    if running:
        return None
    if kafka.throttles.any and not kafka.moving() and situation.view.moves.drain is None:
        return act(f"{words}: clearing the throttles", ClearThrottles())
    reason = f"broker {named} is not there"
    return record(f"{words}: {reason}", facts.ReplicationEnded(batch.id, done, reason))


def _gate(situation: Situation, partition: PartitionSeen, move: Move) -> bool:
    return may_move(partition, move.after, allow_unavailable=situation.excused_topics).open


def _throttle(view: ClusterView, kafka: KafkaSnapshot, batch: ReplicationView, moves: Sequence[Move]) -> ThrottlePlan:
    """One rate on every broker that takes part: what the slowest may give beside its clients; or what it was raised to,
    since moves of this batch hung on it."""
    raised = view.moves.stuck if view.moves.stuck.cured == batch.id else StuckMovesView()
    moved = [(m.name, m.before, m.after) for m in moves if m.added]
    planned = copy_rate_bytes_per_s(view)
    rate = max(int(planned * share_of(view)), min(planned, floor(0.0)))
    plan = throttle_for(moved, bytes_per_s=rate)
    live = kafka.live_brokers()
    return ThrottlePlan(
        {b: max(r, raised.leader_rates.get(b, 0)) for b, r in plan.leader_bytes_per_s.items() if b in live},
        {b: max(r, raised.follower_rates.get(b, 0)) for b, r in plan.follower_bytes_per_s.items() if b in live},
        plan.topics,
    )
