"""What people and git may ask for topics, and what is refused of it. Pure: the view and the last metadata in."""

from controlplane.cluster import commands
from controlplane.cluster.spec_source import SourceRefusal
from controlplane.cluster.standby_commands import CopyTopics
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.source import API
from controlplane.cluster.views.topics import TopicView
from controlplane.commands.deciders.decision import CommandDecision, asked_by
from controlplane.commands.deciders.kept import (
    being_deleted,
    is_news,
    refuse_source,
    refuse_still_declared,
    refuse_unconfirmed,
)
from controlplane.commands.deciders.lookups import NOTHING, Lookups, obey, refuse_errors, refuse_unagreed
from controlplane.commands.previews.topics import refuse_moved_topics
from controlplane.commands.topic_declaration import declaration_of
from events import topic_facts as facts
from events.quantities import counted, named
from planner.observed import KafkaSnapshot


def topics_declared(view: ClusterView, command: commands.DeclareTopics, known: Lookups) -> CommandDecision:
    """Raises SpecRefused, CommandRefused, NeedsApproval, StoreUnavailable."""
    judged = known.judge.topics(view, view.document, command.topics, known.kafka)
    refuse_errors(judged)
    decision = topic_news(view, command)
    refuse_moved_topics(view, command)
    refuse_unagreed(command, judged.reasons)
    return decision


def topic_news(view: ClusterView, command: commands.DeclareTopics) -> CommandDecision:
    """One fact for all of a file that say something new, admission and policies aside. Raises CommandRefused."""
    cluster = view.document
    if cluster is None:
        raise commands.CommandRefused("not-declared", f"{view.name} is not declared yet", "Declare the cluster first.")
    for one in command.topics:
        refusal = refuse_topic(view, one.document.topic, command.source)
        if refusal is not None:
            raise commands.CommandRefused(refusal.code, refusal.message, refusal.what_next)
    wanted = [(one, declaration_of(one.document, cluster)) for one in command.topics]
    known = view.topics.by_name.get
    fresh = [
        declared
        for one, declared in wanted
        if is_news(there := known(one.document.topic), there and there.declared, declared, command)
    ]
    if not fresh:
        return CommandDecision(
            None, f"{counted(len(command.topics), 'topic')} of {view.name} declared like this already"
        )
    # A declaration carries one file; of topics of several files each file is a command of its own.
    fact = facts.TopicsDeclared(tuple(fresh), command.source, command.path, command.commit)
    names = named([t.name for t in fresh])
    return CommandDecision(fact, f"{counted(len(fresh), 'topic')} of {view.name} declared: {names}")


def topics_copied(view: ClusterView, command: CopyTopics, _: Lookups = NOTHING) -> CommandDecision:
    """Those that are missing, or were declared otherwise, by whom a file of git does not declare. A person who asks
    for a failover asks for these."""
    known = view.topics.by_name
    there = {name: known[name] for one in command.topics if (name := one.name) in known}
    fresh = [
        one
        for one in command.topics
        if (kept := there.get(one.name)) is None or not (kept.is_git or kept.tombstone or kept.declared == one)
    ]
    if not fresh:
        return CommandDecision(None, f"nothing of the topics of {command.pair} is missing on {view.name}")
    names = named([topic.name for topic in fresh])
    fact = facts.TopicsDeclared(tuple(fresh), API, "", "")
    return CommandDecision(fact, f"{counted(len(fresh), 'topic')} of {view.name} declared for {command.pair}: {names}")


def topic_adopted(view: ClusterView, command: commands.AdoptTopic, known: Lookups) -> CommandDecision:
    """Kedge keeps it from here on: as it is declared, or as it is found. Raises CommandRefused."""
    declared = view.topics.by_name.get(command.topic)
    if declared is not None and declared.owned:
        return CommandDecision(None, f"{command.topic} is kept by Kedge already")
    if declared is not None and declared.tombstone:
        raise being_deleted("topic", command.topic)
    if declared is not None:
        sentence = f"{command.topic} is kept by Kedge from now on: differences from its declaration are corrected"
        return CommandDecision(facts.TopicsAdopted((command.topic,), asked_by(command, command.reason)), sentence)
    found = _as_found(view, command.topic, known.kafka)
    fact = facts.TopicsDeclared((found,), API, "", "")
    sentence = (
        f"{command.topic} is kept by Kedge from here on, with {counted(found.partitions, 'partition')} and "
        f"{counted(found.replicas, 'replica')}; its configuration is left alone until a document declares it"
    )
    return CommandDecision(fact, sentence)


def topic_deleted(view: ClusterView, command: commands.DeleteTopic, known: Lookups = NOTHING) -> CommandDecision:
    """The tombstone. Raises CommandRefused, NeedsApproval."""
    topic = view.topics.by_name.get(command.topic)
    if topic is None:
        message = f"{view.name} has no topic {command.topic!r} that Kedge keeps"
        then = f"To have it kept, and deleted then: kedge topic adopt {view.name} {command.topic}"
        raise commands.CommandRefused("topic-not-kept", message, then)
    then = f"kedge topic delete {view.name} {command.topic} --confirm {command.topic}"
    refuse_unconfirmed(command.topic, command.confirm, then)
    if topic.tombstone:
        return CommandDecision(None, f"{command.topic} is being deleted already")
    refuse_still_declared(topic)
    if not command.retain:
        obey(known.judge.gate.deletion(view, command.topic), command)
    policy = topic.declared.deletion_policy if topic.owned and not command.retain else "retain"
    fate = "it is destroyed with its records" if policy == "delete" else "it stays in Kafka, unmanaged"
    why = "as was asked" if command.retain else "as its deletion policy says"
    fact = facts.TopicDeletionRequested(command.topic, policy, asked_by(command, command.reason))
    return CommandDecision(fact, f"{command.topic} is deleted: {fate}, {why}")


def topics_gone(view: ClusterView, command: commands.ReportTopicsGone, _: Lookups = NOTHING) -> CommandDecision:
    """A git source does not declare these any more: told, and nothing else."""
    news = [n for n in command.topics if (t := view.topics.by_name.get(n)) and _is_of(t, command) and not t.undeclared]
    if not news:
        return CommandDecision(None, "nothing new")
    fact = facts.TopicsUndeclared(tuple(sorted(news)), command.source, command.commit)
    return CommandDecision(fact, f"no file declares {', '.join(sorted(news)[:3])} any more; they stay as they are")


def refuse_topic(view: ClusterView, name: str, source: str) -> SourceRefusal | None:
    """Why `source` may not declare this topic: it is going, or comes from elsewhere. None where it may."""
    let_go = f"kedge topic delete {view.name} {name} --confirm {name} --retain"
    return refuse_source("topic", view.topics.by_name.get(name), source, let_go=let_go)


def _as_found(view: ClusterView, name: str, snapshot: KafkaSnapshot | None) -> facts.TopicDeclaration:
    if snapshot is None:
        message = f"Kafka of {view.name} was not read yet by this server"
        raise commands.CommandRefused("kafka-unknown", message, "Try again when its brokers are up.")
    parts = [p for p in snapshot.partitions if p.name.topic == name]
    if not parts:
        raise commands.CommandRefused(
            "topic-not-found", f"{view.name} has no topic called {name}", f"kedge topics {view.name}"
        )
    if owner := snapshot.owner_of(name):
        message = f"{name} is a topic of {owner} itself"
        raise commands.CommandRefused("internal-topic", message, f"{owner} keeps its own topics.")
    replicas = {len(p.target) for p in parts}
    if len(replicas) > 1:
        message = f"partitions of {name} have {' and '.join(map(str, sorted(replicas)))} replicas"
        raise commands.CommandRefused(
            "uneven-replicas", message, "Declare it with the number it is to have: kedge apply -f FILE"
        )
    return facts.TopicDeclaration(name, len(parts), replicas.pop(), None, "standard", "", "retain", "tell", {})


def _is_of(topic: TopicView, command: commands.ReportTopicsGone, _: Lookups = NOTHING) -> bool:
    return topic.source == command.source
