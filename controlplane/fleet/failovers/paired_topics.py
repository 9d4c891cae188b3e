"""Which topics there are two of: those of the primary that its pair names. Pure."""

from collections.abc import Mapping
from types import MappingProxyType

from controlplane.cluster.view import ClusterView
from events.spec.failover_model import KafkaFailoverDocument
from events.spec.failover_rules import is_paired
from events.topic_facts import TopicDeclaration
from planner.observed import KafkaSnapshot


def paired_topics(document: KafkaFailoverDocument, primary: ClusterView) -> Mapping[str, TopicDeclaration]:
    """By name, as they are declared of the primary."""
    of = (topic for topic in primary.topics.by_name.values() if not topic.tombstone)
    found = {t.name: t.declared for t in of if t.declared.tier != "scratch" and is_paired(document, t.name)}
    return MappingProxyType(found)


def topics_left(wanted: Mapping[str, TopicDeclaration], standby: ClusterView, seen: KafkaSnapshot) -> tuple[str, ...]:
    """Those that cannot be written to there as they are on the primary: missing, with fewer partitions, declared
    otherwise, or with a partition without a leader or with replicas that are not in sync."""
    return tuple(name for name, topic in sorted(wanted.items()) if not _is_there(topic, standby, seen))


def _is_there(topic: TopicDeclaration, standby: ClusterView, seen: KafkaSnapshot) -> bool:
    known = standby.topics.by_name.get(topic.name)
    if known is None or known.tombstone or topic.name in standby.topics.pending:
        return False
    partitions = seen.by_topic.get(topic.name, ())
    return len(partitions) >= topic.partitions and all(
        p.leader >= 0 and set(p.isr) >= set(p.replicas) for p in partitions
    )
