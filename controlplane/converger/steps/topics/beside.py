"""Topics, beside whatever else the cluster does: looked at, asked about, changed in small batches, looked at again.

    look -> Kafka asked (validate-only) -> topics.change_requested -> changed -> look -> topics.changed
                 +--> topics.troubled: this topic waits, the others go on

A roll takes hours, and nobody's topic is to wait for it: one batch goes on beside whatever else the tick does.
New replicas are placed on brokers that stay, never on one that is being emptied; where a rack has no broker just now,
the topic waits for it. Nothing here makes a cluster `Blocked`: topics in trouble are told by `TopicsDegraded`.
"""

from controlplane.cluster.healing_switches import heals
from controlplane.cluster.holds import hold_on
from controlplane.converger.questions.kept import outcome_text
from controlplane.converger.questions.topics.work import TopicWork, topic_work
from controlplane.converger.questions.unavailability import brokers_away
from controlplane.converger.situation.decision import Decision, record
from controlplane.converger.situation.effects import ChangeTopics
from controlplane.converger.situation.situation import Situation
from events import topic_facts as facts
from events.ids import derived_id
from events.quantities import named
from events.topic_facts import TopicTrouble
from planner.anomalies.kinds import Kind
from planner.topics.step import TopicStep


def with_topics(situation: Situation, decision: Decision) -> Decision:
    """The decision, with what is done about topics beside it. What it has to record comes first."""
    if decision.events:
        return decision
    found = topics_decision(situation)
    if found is None:
        return decision
    return decision.and_beside(found)


def topics_decision(situation: Situation) -> Decision | None:
    """What is to be recorded or changed now. None where there is nothing, or it cannot be told."""
    view, seen = situation.view, situation.seen
    if (
        view.history.unreadable
        or view.requests.held
        or view.deleted
        or view.requests.tombstone
        or not view.roll.converged
    ):
        return None
    kafka = seen.fresh_kafka(situation.now)
    if kafka is None or seen.topics is None or not view.topics.by_name:
        return None
    change = view.topics.change
    if change is None and hold_on(view, situation.now) is not None:
        return None
    if change is not None and not change.names & view.topics.by_name.keys() <= seen.topics.asked:
        return None
    away = brokers_away(situation, kafka)
    work = topic_work(view, kafka, seen.topics.configs, seen.topics.asked, away=away)
    refused = {n: why for n, why in seen.topics.refusals.items() if n in work.step.names}
    if change is not None:
        return _in_hand(situation, work, refused)
    return _news(situation, work, refused) or _request(situation, work, refused)


def _in_hand(situation: Situation, work: TopicWork, refused: dict[str, str]) -> Decision:
    """What was asked for is there, or is sent (again): the world tells, never memory."""
    change = situation.view.topics.change
    if change is None:
        raise ValueError("no change of topics is in hand")
    left = work.step.without(frozenset(refused))
    if left:
        return Decision(_words(left), effects=(ChangeTopics(left),))
    ended = facts.TopicsChanged(
        change.id,
        created=tuple(sorted(set(change.create) & work.there)),
        settled=tuple(sorted(work.settled)),
        deleted=tuple(sorted(work.gone)),
        left=tuple(sorted(refused)),
    )
    return record("topics are as was asked for" if not refused else f"topics: {len(refused)} refused", ended)


def _news(situation: Situation, work: TopicWork, refused: dict[str, str]) -> Decision | None:
    """What this look tells that is not recorded yet."""
    topics = situation.view.topics
    events: list[object] = [facts.TopicReleased(name) for name in sorted(work.released)]
    settled = sorted(n for n in work.settled if n in topics.pending or not topics.by_name[n].owned)
    if settled or work.gone:
        events.append(facts.TopicsChanged("", (), tuple(settled), tuple(sorted(work.gone)), ()))
    troubles = dict(work.troubles)
    troubles |= {n: TopicTrouble(n, "Refused", why) for n, why in refused.items()}
    # One that a person let be tried again is told anew, though nothing of it changed: else it is in hand for ever.
    news = [t for n, t in sorted(troubles.items()) if topics.troubles.get(n) != t or n in topics.pending]
    news += [
        TopicTrouble(n, "", "")
        for n in sorted(topics.troubles)
        if n in work.asked and n not in troubles and n not in work.settled and n not in work.released | work.gone
    ]
    if news:
        events.append(facts.TopicsTroubled(tuple(news)))
    return record(f"topics: {outcome_text(settled, news)}", *events) if events else None


def _request(situation: Situation, work: TopicWork, refused: dict[str, str]) -> Decision | None:
    """What Kafka has said it would take is to be done."""
    view, seen = situation.view, situation.seen.topics
    offered = seen.offered if seen is not None else frozenset[str]()
    kept = frozenset(refused) | (work.step.names - offered)
    if not heals(view, Kind.TOPIC_ANOMALY, situation.now):
        # What was declared is carried out; what has changed since by other hands is only told.
        kept |= work.step.names - frozenset(view.topics.pending)
    step = work.step.without(kept)
    if not step:
        return None
    reason = _words(step)
    request = facts.TopicsChangeRequested(
        change=derived_id("topics", view.uid, str(view.topics.changes + 1)),
        create=tuple(sorted(step.create)),
        grow={name: growth.total for name, growth in sorted(step.grow.items())},
        configure={name: dict(values) for name, values in sorted(step.configure.items())},
        delete=tuple(sorted(step.delete)),
        reason=reason,
    )
    return record(reason, request)


def _words(step: TopicStep) -> str:
    ways = (
        ("making", sorted(step.create)),
        ("adding partitions to", sorted(step.grow)),
        ("configuring", sorted(step.configure)),
        ("deleting", sorted(step.delete)),
    )
    return "; ".join(f"{way} {named(names)}" for way, names in ways if names)
