"""What people and git may ask for topics, and what is refused of it. Pure: the view and the last metadata in."""

from collections import Counter
from collections.abc import Iterable, Sequence

from controlplane.cluster.commands import (
    AdoptTopic,
    CommandRefused,
    DeclareTopics,
    DeleteTopic,
    ReportTopicsGone,
    TopicDeclared,
)
from controlplane.cluster.spec_source import SourceRefusal
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.source import API
from controlplane.cluster.views.topics import TopicView
from controlplane.commands.deciders.decision import CommandDecision, asked_by
from events import topic_facts as facts
from events.spec import problems as p
from events.spec.model import KafkaClusterDocument
from events.spec.positions import Positions
from events.spec.problems import Problem, counted
from events.spec.topic_model import KafkaTopicDocument
from events.spec.topic_rules import check_topic_change, check_topic_in, collision, collision_problem
from events.spec.topic_tiers import effective_config, effective_replicas
from planner.observed import KafkaSnapshot


def topic_problems(
    view: ClusterView,
    cluster: KafkaClusterDocument | None,
    topics: Sequence[tuple[KafkaTopicDocument, Positions]],
    snapshot: KafkaSnapshot | None,
) -> list[Problem]:
    """What refuses these topics in that cluster, warnings too. `cluster` is the document in force, or about to be."""
    if cluster is None:
        return [_homeless(document, where) for document, where in topics]
    there = Counter(p.name.topic for p in snapshot.partitions) if snapshot else Counter[str]()
    known = view.topics.by_name
    names = {name.replace(".", "_"): name for name in (*there, *known)}
    found: list[Problem] = []
    for document, where in topics:
        found += check_topic_in(document, cluster, positions=where)
        before = known.get(document.topic)
        declared = before.declared.partitions if before and before.owned else 0
        found += check_topic_change(document, partitions_before=there[document.topic] or declared, positions=where)
        other = collision(document.topic, [names.get(document.topic.replace(".", "_"), document.topic)])
        if other is not None:
            found.append(collision_problem(document, other, where))
    return found


def topics_declared(view: ClusterView, command: DeclareTopics) -> CommandDecision:
    """One fact for all of a file that say something new. Raises CommandRefused."""
    cluster = view.document
    if cluster is None:
        raise CommandRefused("not-declared", f"{view.name} is not declared yet", "Declare the cluster first.")
    for one in command.topics:
        refusal = refuse_topic(view, one.document.topic, command.source)
        if refusal is not None:
            raise CommandRefused(refusal.code, refusal.message, refusal.what_next)
    wanted = [declaration_of(one.document, cluster) for one in command.topics]
    fresh = [
        declared for one, declared in zip(command.topics, wanted, strict=True) if _is_news(view, one, declared, command)
    ]
    if not fresh:
        return CommandDecision(None, f"{counted(len(wanted), 'topic')} of {view.name} declared like this already")
    # A declaration carries one file; of topics of several files each file is a command of its own.
    fact = facts.TopicsDeclared(tuple(fresh), command.source, command.path, command.commit)
    names = ", ".join(t.name for t in fresh[:3]) + (f" and {len(fresh) - 3} more" if len(fresh) > 3 else "")
    return CommandDecision(fact, f"{counted(len(fresh), 'topic')} of {view.name} declared: {names}")


def topic_adopted(view: ClusterView, command: AdoptTopic, snapshot: KafkaSnapshot | None) -> CommandDecision:
    """Kedge keeps it from here on: as it is declared, or as it is found. Raises CommandRefused."""
    known = view.topics.by_name.get(command.topic)
    if known is not None and known.owned:
        return CommandDecision(None, f"{command.topic} is kept by Kedge already")
    if known is not None and known.tombstone:
        raise _dying(command.topic)
    if known is not None:
        sentence = f"{command.topic} is kept by Kedge from here on: differences from its declaration are put right"
        return CommandDecision(facts.TopicsAdopted((command.topic,), asked_by(command, command.reason)), sentence)
    found = _as_found(view, command.topic, snapshot)
    fact = facts.TopicsDeclared((found,), API, "", "")
    sentence = (
        f"{command.topic} is kept by Kedge from here on, with {counted(found.partitions, 'partition')} and "
        f"{counted(found.replicas, 'replica')}; its configuration is left alone until a document declares it"
    )
    return CommandDecision(fact, sentence)


def topic_deleted(view: ClusterView, command: DeleteTopic) -> CommandDecision:
    """The tombstone. Raises CommandRefused."""
    known = view.topics.by_name.get(command.topic)
    if known is None:
        message = f"{view.name} has no topic {command.topic!r} that Kedge keeps"
        then = f"To have it kept, and deleted then: kedge topic adopt {view.name} {command.topic}"
        raise CommandRefused("topic-not-kept", message, then)
    if command.confirm != command.topic:
        message = f"to delete {command.topic} its name must be typed out; {command.confirm!r} is not it"
        then = f"kedge topic delete {view.name} {command.topic} --confirm {command.topic}"
        raise CommandRefused("name-mismatch", message, then)
    if known.tombstone:
        return CommandDecision(None, f"{command.topic} is being deleted already")
    if known.is_git and not known.undeclared:
        message = f"{command.topic} is still declared by `{known.source}`: {known.path}"
        raise CommandRefused("still-declared", message, "Remove it there first and wait for the next poll.")
    policy = known.declared.deletion_policy if known.owned and not command.retain else "retain"
    fate = "it is destroyed with its records" if policy == "delete" else "it stays in Kafka, and nobody keeps it"
    why = "as was asked" if command.retain else "as its deletion policy says"
    fact = facts.TopicDeletionRequested(command.topic, policy, asked_by(command, command.reason))
    return CommandDecision(fact, f"{command.topic} is deleted: {fate}, {why}")


def topics_gone(view: ClusterView, command: ReportTopicsGone) -> CommandDecision:
    """A git source does not declare these any more: told, and nothing else."""
    news = [n for n in command.topics if (t := view.topics.by_name.get(n)) and _is_of(t, command) and not t.undeclared]
    if not news:
        return CommandDecision(None, "nothing new")
    fact = facts.TopicsUndeclared(tuple(sorted(news)), command.source, command.commit)
    return CommandDecision(fact, f"no file declares {', '.join(sorted(news)[:3])} any more; they stay as they are")


def declaration_of(document: KafkaTopicDocument, cluster: KafkaClusterDocument) -> facts.TopicDeclaration:
    """What is recorded of a document: the tier and the cluster's defaults of now are in it."""
    return facts.TopicDeclaration(
        name=document.topic,
        partitions=document.spec.partitions,
        replicas=effective_replicas(document, cluster),
        config=effective_config(document),
        tier=document.spec.tier,
        owner=document.metadata.owner,
        deletion_policy=document.spec.deletion_policy,
        on_loss=document.spec.on_loss,
        labels=dict(document.metadata.labels),
        rate_min=document.spec.rate.min,
        rate_max=document.spec.rate.max,
        rate_learn=document.spec.rate.learn,
    )


def refuse_topic(view: ClusterView, name: str, source: str) -> SourceRefusal | None:
    """Why `source` may not declare this topic: it is going, or comes from elsewhere. None where it may."""
    known = view.topics.by_name.get(name)
    if known is None or known.undeclared:
        return None
    if known.tombstone:
        dying = _dying(name)
        return SourceRefusal(dying.code, str(dying), dying.what_next)
    if known.source == source:
        return None
    if known.is_git:
        message = f"the topic {name} comes from `{known.source}`: {known.path}"
        return SourceRefusal("other-source", message, "Change that file, or remove it there first.")
    message = f"the topic {name} was declared through the API (`kedge apply`), not by {source}"
    then = f"Let go of it first, it stays in Kafka: kedge topic delete {view.name} {name} --confirm {name} --retain"
    return SourceRefusal("other-source", message, then)


def _is_news(view: ClusterView, one: TopicDeclared, declared: facts.TopicDeclaration, command: DeclareTopics) -> bool:
    known = view.topics.by_name.get(one.document.topic)
    if known is None or known.undeclared or (known.source, known.path) != (command.source, command.path):
        # A file of the API is a name somebody typed: another one alone is no news.
        moved = known is None or known.undeclared or known.source != command.source or known.is_git
        return moved or known is None or known.declared != declared
    return known.declared != declared


def _as_found(view: ClusterView, name: str, snapshot: KafkaSnapshot | None) -> facts.TopicDeclaration:
    if snapshot is None:
        message = f"Kafka of {view.name} was not read yet by this server"
        raise CommandRefused("kafka-unknown", message, "Try again when its brokers are up.")
    parts = [p for p in snapshot.partitions if p.name.topic == name]
    if not parts:
        raise CommandRefused("topic-not-found", f"{view.name} has no topic called {name}", f"kedge topics {view.name}")
    if owner := snapshot.owner_of(name):
        message = f"{name} is a topic of {owner} itself"
        raise CommandRefused("internal-topic", message, f"{owner} keeps its own topics.")
    replicas = {len(p.target) for p in parts}
    if len(replicas) > 1:
        message = f"partitions of {name} have {' and '.join(map(str, sorted(replicas)))} replicas"
        raise CommandRefused(
            "uneven-replicas", message, "Declare it with the number it is to have: kedge apply -f FILE"
        )
    return facts.TopicDeclaration(name, len(parts), replicas.pop(), None, "standard", "", "retain", "tell", {})


def _is_of(topic: TopicView, command: ReportTopicsGone) -> bool:
    return topic.source == command.source


def _dying(name: str) -> CommandRefused:
    message = f"the topic {name} is being deleted"
    return CommandRefused("topic-being-deleted", message, "Wait until it is gone; its name is free then.")


def _homeless(document: KafkaTopicDocument, where: Positions) -> Problem:
    message = f"there is no cluster `{document.spec.cluster}`"
    fix = "Correct the name, or declare the cluster first."
    return where.problem(p.TOPIC_HOME, ("spec", "cluster"), message, fix)


def by_cluster(topics: Iterable[TopicDeclared]) -> dict[str, list[TopicDeclared]]:
    """Topics of a file by the cluster they are to live in, in the order of the file."""
    found: dict[str, list[TopicDeclared]] = {}
    for one in topics:
        found.setdefault(one.document.spec.cluster, []).append(one)
    return found
