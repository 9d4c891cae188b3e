"""Heartbeats through every broker, as far as the converger has to do with them: their partitions, and who beats whom.

Kept beside whatever else the cluster does, like topics, and only while nothing moves: it never makes others wait.
Nothing of it is recorded: the name of the topic is Kedge's own, where its partitions are is to be seen in Kafka, and
what is asked for again is no harm.
"""

from datetime import timedelta

from controlplane.cluster.holds import hold_on
from controlplane.converger.questions.services.heartbeats import has_heartbeats
from controlplane.converger.situation.decision import Decision, act
from controlplane.converger.situation.effects import ChangeTopics, Effect, Reassign
from controlplane.converger.situation.situation import Situation
from planner.heartbeats import HEARTBEAT_TOPIC, heartbeat_work

ASK_AGAIN = timedelta(seconds=30)
"""What Kafka refuses, or has not done yet, is asked for again no sooner."""

JUST_READ = timedelta(seconds=5)
"""Placement is looked at when metadata has been read, not at every tick in between."""


def with_heartbeats(situation: Situation, decision: Decision) -> Decision:
    """The decision, with what brings every broker a partition of the heartbeats beside it."""
    if not has_heartbeats(situation.view) or decision.events or decision.effects:
        return decision
    effects, words = _placing(situation)
    return decision.and_beside(act(words, *effects)) if effects else decision


def places_heartbeats(decision: Decision) -> bool:
    """Whether the decision asks for partitions of heartbeats."""
    return any(
        (isinstance(e, ChangeTopics) and HEARTBEAT_TOPIC in e.step.names)
        or (isinstance(e, Reassign) and any(name.topic == HEARTBEAT_TOPIC for name in e.targets))
        for e in decision.effects
    )


def _placing(situation: Situation) -> tuple[tuple[Effect, ...], str]:
    view, kafka = situation.view, situation.seen.kafka
    if kafka is None or situation.now - kafka.at > JUST_READ or _is_kept_from(situation):
        return (), ""
    asked_at = situation.seen.health.heartbeats_asked_at
    if asked_at is not None and situation.now - asked_at < ASK_AGAIN:
        return (), ""
    receivers = [i.service_id for i in view.receivers()]
    work = heartbeat_work(kafka, receivers, [i.service_id for i in view.brokers()])
    changes: tuple[Effect, ...] = (ChangeTopics(work.step),) if work.step else ()
    moves: tuple[Effect, ...] = (Reassign(work.moves),) if work.moves else ()
    return (*changes, *moves), work.words


def _is_kept_from(situation: Situation) -> bool:
    """A cluster that is not there yet or leaves, is held, or moves data has no time for it."""
    view = situation.view
    if (
        view.history.unreadable
        or view.requests.held
        or view.deleted
        or view.requests.tombstone
        or not view.roll.converged
    ):
        return True
    if view.moves.drain is not None or view.moves.rebalance is not None or view.topics.replication is not None:
        return True
    return bool(view.settings.restarts) or view.quorum.migration is not None or hold_on(view, situation.now) is not None
