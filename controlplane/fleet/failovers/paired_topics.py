"""Which topics there are two of: those of the primary that its pair names. Pure."""

from collections.abc import Mapping
from types import MappingProxyType

from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.topics import TopicView
from events.spec.failover_model import KafkaFailoverDocument
from events.spec.failover_rules import is_paired
from events.topic_facts import TopicDeclaration
from planner.observed import KafkaSnapshot, PartitionSeen


def paired_topics(document: KafkaFailoverDocument, primary: ClusterView) -> Mapping[str, TopicDeclaration]:
    """By name, as they are declared of the primary."""
    of = (topic for topic in primary.topics.by_name.values() if not topic.tombstone)
    found = {t.name: t.declared for t in of if t.declared.tier != "scratch" and is_paired(document, t.name)}
    return MappingProxyType(found)


def copyable_topics(wanted: Mapping[str, TopicDeclaration], standby: ClusterView) -> tuple[TopicDeclaration, ...]:
    """Those that are to be declared of the standby, and may be: they are missing there, or declared otherwise."""
    known = standby.topics.by_name
    return tuple(topic for name, topic in sorted(wanted.items()) if _may_be_copied(topic, known.get(name)))


def _may_be_copied(topic: TopicDeclaration, there: TopicView | None) -> bool:
    if topic.config is None:
        return False
    return there is None or not (there.is_git or there.tombstone or there.declared == topic)


def topic_obstacles(wanted: Mapping[str, TopicDeclaration], standby: ClusterView) -> tuple[str, ...]:
    """Why topics of the primary cannot be made on the standby as they are, and do not come to be so by themselves."""
    known, found = standby.topics.by_name, []
    for name, topic in sorted(wanted.items()):
        there = known.get(name)
        if there is not None and there.tombstone:
            found.append(f"the topic {name} is being deleted on it")
        elif there is not None and there.is_git and there.declared != topic:
            found.append(f"{there.source} declares the topic {name} otherwise on it")
        elif topic.config is None and (there is None or there.declared != topic):
            found.append(f"the configuration of the topic {name} is in no declaration: it was adopted as it was found")
        elif (trouble := standby.topics.troubles.get(name)) is not None:
            found.append(f"the topic {name} on it: {trouble.message}")
    return tuple(found)


def topics_left(
    wanted: Mapping[str, TopicDeclaration], standby: ClusterView, seen: KafkaSnapshot, *, planned: bool
) -> tuple[str, ...]:
    """Those that cannot be written to there as they are on the primary: missing, with fewer partitions, declared
    otherwise, or with a partition without a leader or with too few replicas in sync: in a planned failover without one
    of them, else below min ISR."""
    return tuple(name for name, topic in sorted(wanted.items()) if not _is_there(topic, standby, seen, planned))


def _is_there(topic: TopicDeclaration, standby: ClusterView, seen: KafkaSnapshot, planned: bool) -> bool:
    known = standby.topics.by_name.get(topic.name)
    if known is None or known.tombstone or known.declared != topic or topic.name in standby.topics.pending:
        return False
    partitions = seen.by_topic.get(topic.name, ())
    return len(partitions) >= topic.partitions and all(_can_be_written(p, planned) for p in partitions)


def _can_be_written(partition: PartitionSeen, planned: bool) -> bool:
    if partition.leader < 0:
        return False
    return set(partition.isr) >= set(partition.replicas) if planned else len(partition.isr) >= partition.min_isr
