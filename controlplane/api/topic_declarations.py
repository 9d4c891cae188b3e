"""What was declared of a topic, by number: the first is 1, and one that says the same again is no new one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from controlplane.api.schemas.rollbacks import TopicDeclarationOut, TopicDeclarationsOut
from controlplane.cluster.view import ClusterView
from controlplane.commands.previews.topics import topic_changes
from events.codec import decode
from events.envelope import Recorded
from events.topic_facts import TopicDeclaration, TopicsDeclared


@dataclass(frozen=True, slots=True)
class NumberedTopic:
    """A topic as it was declared. `event` declared it so first, `origin` last: where that came from."""

    number: int
    declared: TopicDeclaration
    event: Recorded
    origin: TopicsDeclared


def topic_declarations(events: Sequence[Recorded], topic: str) -> list[NumberedTopic]:
    """Of the events of its cluster, the oldest first."""
    found: list[NumberedTopic] = []
    for event in events:
        fact = decode(event) if event.type == "topics.declared" else None
        if not isinstance(fact, TopicsDeclared):
            continue
        for declared in (one for one in fact.topics if one.name == topic):
            if found and found[-1].declared == declared:
                found[-1] = replace(found[-1], origin=fact)
            else:
                found.append(NumberedTopic(len(found) + 1, declared, event, fact))
    return found


def topic_declarations_out(view: ClusterView, topic: str, found: Sequence[NumberedTopic]) -> TopicDeclarationsOut:
    """For the API and the page, the newest first."""
    known = view.topics.by_name.get(topic)
    in_force = known.declared if known is not None and not known.tombstone else None
    shown = [
        TopicDeclarationOut(
            number=one.number,
            declared_at=one.event.recorded_at,
            declared_by=one.event.actor,
            source=one.origin.source,
            path=one.origin.path,
            commit=one.origin.commit,
            partitions=one.declared.partitions,
            replicas=one.declared.replicas,
            config=None if one.declared.config is None else dict(one.declared.config),
            tier=one.declared.tier,
            in_force=one is found[-1] and one.declared == in_force,
            changes=topic_changes(before.declared, one.declared) if before else [],
        )
        for before, one in zip([None, *found], found, strict=False)
    ]
    return TopicDeclarationsOut(cluster=view.name, topic=topic, declarations=shown[::-1])
