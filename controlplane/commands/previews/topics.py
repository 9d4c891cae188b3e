"""What declaring topics would do, in a line each, as `kedge plan` shows it, and the digest that pins it. Pure."""

from collections.abc import Sequence
from dataclasses import asdict

from controlplane.cluster.commands import DeclareTopics
from controlplane.cluster.view import ClusterView
from controlplane.commands.previews.kept import kept_digest, pairs, refuse_moved
from controlplane.commands.topic_declaration import declaration_of
from events.spec.model import KafkaClusterDocument
from events.spec.topic_model import KafkaTopicDocument
from events.topic_facts import TopicDeclaration


def topic_lines(
    view: ClusterView, cluster: KafkaClusterDocument, documents: Sequence[KafkaTopicDocument]
) -> tuple[str, ...]:
    """`+ topic` for a new one, `~ topic: what changes`; nothing for one that stays as it is."""
    lines = []
    for document in documents:
        wanted, known = declaration_of(document, cluster), view.topics.by_name.get(document.topic)
        if known is None:
            shape = f"{wanted.partitions} partitions, {wanted.replicas} replicas"
            lines.append(f"+ topic {cluster.metadata.name}/{wanted.name}: {shape}")
        elif changes := topic_changes(known.declared, wanted):
            lines.append(f"~ topic {cluster.metadata.name}/{wanted.name}: {'; '.join(changes)}")
    return tuple(lines)


def topics_digest(view: ClusterView, cluster: KafkaClusterDocument, documents: Sequence[KafkaTopicDocument]) -> str:
    """Pins what declaring them means, with the tier and the cluster's defaults, and what it goes on from.

    `view` may be empty: `cluster` is declared in the same file then. What Kafka shows is no part of it: it moves by
    itself, and what is declared does not.
    """
    wanted = [asdict(declaration_of(document, cluster)) for document in documents]
    known = [view.topics.by_name.get(document.topic) for document in documents]
    in_force = [t and [asdict(t.declared), t.source, t.owned, t.undeclared, t.tombstone] for t in known]
    return kept_digest(wanted, in_force)


def refuse_moved_topics(view: ClusterView, command: DeclareTopics) -> None:
    """Raises CommandRefused where they are to be declared only as they were shown, and that has moved."""
    if command.plan_digest is None or view.document is None:
        return
    now = topics_digest(view, view.document, [one.document for one in command.topics])
    refuse_moved(command.name, "topics", command.plan_digest, now)


def topic_changes(before: TopicDeclaration, after: TopicDeclaration) -> list[str]:
    """What differs, field by field: `partitions 3 -> 6`."""
    changes = [
        f"{words} {old} -> {new}"
        for words, old, new in (
            ("partitions", before.partitions, after.partitions),
            ("replicas", before.replicas, after.replicas),
            ("tier", before.tier, after.tier),
            ("owner", before.owner or "-", after.owner or "-"),
            ("deletionPolicy", before.deletion_policy, after.deletion_policy),
            ("onLoss", before.on_loss, after.on_loss),
            ("rate.min", _rate(before.rate_min), _rate(after.rate_min)),
            ("rate.max", _rate(before.rate_max), _rate(after.rate_max)),
            ("rate.learn", str(before.rate_learn).lower(), str(after.rate_learn).lower()),
        )
        if old != new
    ]
    if dict(before.labels) != dict(after.labels):
        changes.append(f"labels {pairs(before.labels)} -> {pairs(after.labels)}")
    old_config, new_config = before.config or {}, after.config or {}
    changes += [
        f"{key} {old_config.get(key, 'unset')} -> {new_config.get(key, 'unset')}"
        for key in sorted({*old_config, *new_config})
        if old_config.get(key) != new_config.get(key)
    ]
    return changes


def _rate(per_s: int | None) -> str:
    return "-" if per_s is None else f"{per_s}/s"
