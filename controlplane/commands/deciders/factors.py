"""What people may ask for the replication factor of topics, and what is refused. Pure: the view and the last metadata.

What a document declares is changed there and nowhere else: an order beside it would be put right by the next look.
"""

from controlplane.cluster.commands import CancelReplicationFactor, ChangeReplicationFactor, CommandRefused
from controlplane.cluster.external_brokers import is_shared
from controlplane.cluster.view import ClusterView
from controlplane.commands.deciders.decision import CommandDecision, asked_by
from controlplane.commands.deciders.lookups import NOTHING, Lookups
from controlplane.converger.questions.moves.factor_work import factor_moves
from events import topic_facts as facts
from events.quantities import counted
from planner.observed import KafkaSnapshot
from planner.quantities import human_bytes
from planner.rebalancing.factor import FactorPlan

MOST_REPLICAS = 32767
"""Kafka counts them in 16 bits."""


def factor_asked(view: ClusterView, command: ChangeReplicationFactor, known: Lookups) -> CommandDecision:
    """Raises CommandRefused for a topic that is declared, not there or not for people, for what cannot be had, for
    fewer replicas than min ISR without a word of it, and where nobody knows."""
    kafka = known.kafka
    if kafka is None:
        message = f"Kafka of {view.name} was not read yet by this server: what its topics have is not known"
        raise CommandRefused("kafka-unknown", message, "Ask the server that leads, or ask again in a minute.")
    if is_shared(view):
        message = f"others run a part of {view.name}: Kedge moves nothing there without being asked by its spec"
        raise CommandRefused("external", message)
    if not 1 <= command.factor <= MOST_REPLICAS:
        raise CommandRefused("replicas", f"{command.factor} replicas: it is 1 to {MOST_REPLICAS}")
    topics = tuple(dict.fromkeys(command.topics))
    for topic in topics:
        _refuse_topic(view, kafka, topic)
    words = counted(command.factor, "replica")
    fresh = tuple(t for t in topics if _is_news(view, kafka, t, command))
    if not fresh:
        return CommandDecision(None, f"{', '.join(topics)}: every partition has {words}, or is to have them already")
    _refuse_below_min_isr(view, kafka, fresh, command)
    plan = factor_moves(view, kafka, fresh, command.factor, below_min_isr=command.below_min_isr)
    if plan.short or (plan.left and not plan.moves):
        raise _cannot(view, kafka, fresh, plan)
    fact = facts.ReplicationFactorRequested(
        fresh, command.factor, asked_by(command, command.reason), command.below_min_isr
    )
    return CommandDecision(fact, f"{_named(fresh)} get {words}, in small throttled batches: {_outlook(kafka, plan)}")


def factor_cancelled(view: ClusterView, command: CancelReplicationFactor, _: Lookups = NOTHING) -> CommandDecision:
    """The batch in hand ends, nothing more begins, what moved stays. Raises CommandRefused for a topic of which nothing
    was asked."""
    asked = view.topics.factors
    topics = tuple(dict.fromkeys(command.topics)) or tuple(sorted(asked))
    unknown = [t for t in topics if t not in asked]
    if unknown:
        message = f"no replication factor was asked for topic {unknown[0]!r} of {view.name}"
        named = f"It was for: {', '.join(sorted(asked))}." if asked else "It was for none."
        raise CommandRefused("no-request", message, named)
    if not topics:
        return CommandDecision(None, f"no replication factor of {view.name} is being changed")
    fact = facts.ReplicationFactorEnded(topics, asked_by(command, command.reason))
    return CommandDecision(fact, f"{_named(topics)}: the batch in hand ends, nothing more begins, what moved stays")


def _refuse_topic(view: ClusterView, kafka: KafkaSnapshot, topic: str) -> None:
    declared = view.topics.by_name.get(topic)
    if declared is not None:
        where = f" ({declared.path})" if declared.path else ""
        message = (
            f"{topic} of {view.name} is declared with {counted(declared.declared.replicas, 'replica')} by "
            f"`{declared.source}`{where}: what a document says would be put right again"
        )
        then = "Change `replicas` of its document; kedge apply moves the replicas in the same small batches."
        raise CommandRefused("declared-topic", message, then)
    if topic not in kafka.by_topic:
        message = f"{view.name} has no topic {topic!r}"
        raise CommandRefused("no-topic", message, f"kedge topics {view.name} lists those there are.")
    if kafka.owner_of(topic) == "Kedge":
        raise CommandRefused("internal-topic", f"{topic} is a topic of Kedge itself", "Kedge keeps its own topics.")


def _is_news(view: ClusterView, kafka: KafkaSnapshot, topic: str, command: ChangeReplicationFactor) -> bool:
    asked = view.topics.factors.get(topic)
    if asked is not None:
        return (asked.factor, asked.below_min_isr) != (command.factor, command.below_min_isr)
    return any(p.is_moving or len(p.replicas) != command.factor for p in kafka.by_topic[topic])


def _refuse_below_min_isr(
    view: ClusterView, kafka: KafkaSnapshot, topics: tuple[str, ...], command: ChangeReplicationFactor
) -> None:
    if command.below_min_isr:
        return
    for topic in topics:
        needed = max(max(p.configured_min_isr, p.min_isr) for p in kafka.by_topic[topic])
        drops = any(len(p.replicas) > command.factor for p in kafka.by_topic[topic])
        if drops and command.factor < needed:
            message = (
                f"{topic} has min.insync.replicas {needed}: with {counted(command.factor, 'replica')} Kafka would "
                f"ask for no more than those, and what is acknowledged could be on fewer disks than was promised"
            )
            then = f"Lower min.insync.replicas of {topic} first, or say that it may: --below-min-isr"
            raise CommandRefused("below-min-isr", message, then)


def _cannot(view: ClusterView, kafka: KafkaSnapshot, topics: tuple[str, ...], plan: FactorPlan) -> CommandRefused:
    if plan.short:
        return CommandRefused("no-place", f"{_named(topics)} of {view.name}: {plan.short}")
    name, why = next(iter(plan.left.items()))
    message = f"{_named(topics)} of {view.name}: nothing can be done now, {name} for one: {why}"
    return CommandRefused("not-now", message, f"kedge topics {view.name} --ailing shows what is out of sync.")


def _outlook(kafka: KafkaSnapshot, plan: FactorPlan) -> str:
    dropped = sum(bool(m.removed) for m in plan.moves)
    words = f"{counted(len(plan.moves), 'partition')} to change, {human_bytes(plan.copied_bytes)} to copy"
    if dropped:
        words += f"; {dropped} of them lose replicas, one at a time"
    tight = sum(
        bool(m.removed) and len(m.after) <= max(kafka.by_name[m.name].configured_min_isr, kafka.by_name[m.name].min_isr)
        for m in plan.moves
    )
    if tight:
        words += f"; {counted(tight, 'partition')} can then spare no broker: one that is down stops writes to them"
    if plan.left:
        name, why = next(iter(plan.left.items()))
        words += f"; {counted(len(plan.left), 'partition')} cannot be touched now, {name} for one: {why}"
    return words


def _named(topics: tuple[str, ...]) -> str:
    return (
        f"topic {topics[0]}"
        if len(topics) == 1
        else f"topics {', '.join(topics[:3])}" + (f" and {len(topics) - 3} more" if len(topics) > 3 else "")
    )
