"""What declaring topics would do, in a line each, as `kedge plan` shows it. Pure."""

from collections.abc import Mapping, Sequence

from controlplane.topiccommands import declaration_of
from controlplane.view import ClusterView
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


def lines_of(cluster: str, lines: Sequence[str]) -> tuple[str, ...]:
    """Those of one cluster, of what a file would do to several."""
    return tuple(line for line in lines if line[2:].startswith(f"topic {cluster}/"))


def topic_changes(before: TopicDeclaration, after: TopicDeclaration) -> list[str]:
    """What differs, field by field: `partitions 3 -> 6`."""
    told = [
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
        told.append(f"labels {_pairs(before.labels)} -> {_pairs(after.labels)}")
    old_config, new_config = before.config or {}, after.config or {}
    told += [
        f"{key} {old_config.get(key, 'unset')} -> {new_config.get(key, 'unset')}"
        for key in sorted({*old_config, *new_config})
        if old_config.get(key) != new_config.get(key)
    ]
    return told


def _rate(per_s: int | None) -> str:
    return "-" if per_s is None else f"{per_s}/s"


def _pairs(labels: Mapping[str, str]) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items())) or "-"
