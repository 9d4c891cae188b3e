"""Which Kafka properties may differ from pool to pool, and why the others may not.

Brokers of all pools hold replicas of one topic, coordinate one group after another, and are asked for new topics in
turn. Sources: `ServerTopicConfigSynonyms` (what a topic has that says nothing itself), `AutoTopicCreationManager` (new
and internal topics), `GroupCoordinatorConfig`, `TransactionStateManagerConfig`, `ClusterControlManager` (sessions).
"""

from collections.abc import Mapping
from types import MappingProxyType

from events.spec.setting_synonyms import time_setting

_TOPIC = "topics that say nothing of it have it, and their replicas are on brokers of all pools"
_NEW_TOPIC = "new topics are made by it, whichever node is asked for one"
_INTERNAL = "Kafka's own topics are made by it once, by whichever broker comes first"
_COORDINATED = "groups and transactions have it of whichever broker coordinates them, and that changes"
_SESSION = "the sessions of all brokers are as long, for the controllers and for Kedge"

_TOPIC_DEFAULTS = frozenset(
    {
        "compression.gzip.level",
        "compression.lz4.level",
        "compression.type",
        "compression.zstd.level",
        "log.cleaner.delete.retention.ms",
        "log.cleaner.max.compaction.lag.ms",
        "log.cleaner.min.cleanable.ratio",
        "log.cleaner.min.compaction.lag.ms",
        "log.cleanup.policy",
        "log.flush.interval.messages",
        "log.flush.interval.ms",
        "log.flush.scheduler.interval.ms",
        "log.index.interval.bytes",
        "log.index.size.max.bytes",
        "log.local.retention.bytes",
        "log.local.retention.ms",
        "log.message.downconversion.enable",
        "log.message.timestamp.after.max.ms",
        "log.message.timestamp.before.max.ms",
        "log.message.timestamp.difference.max.ms",
        "log.message.timestamp.type",
        "log.preallocate",
        "log.retention.bytes",
        "log.segment.bytes",
        "log.segment.delete.delay.ms",
        "message.max.bytes",
        "min.insync.replicas",
        "unclean.leader.election.enable",
    }
)
_OF_ALL: Mapping[str, str] = MappingProxyType(
    {
        "auto.create.topics.enable": _NEW_TOPIC,
        "broker.session.timeout.ms": _SESSION,
        "default.replication.factor": _NEW_TOPIC,
        "delete.topic.enable": _NEW_TOPIC,
        "num.partitions": _NEW_TOPIC,
        "offset.metadata.max.bytes": _COORDINATED,
        "offsets.retention.minutes": _COORDINATED,
        "producer.id.expiration.ms": _COORDINATED,
        "transaction.max.timeout.ms": _COORDINATED,
        "transaction.partition.verification.enable": _COORDINATED,
        "transaction.two.phase.commit.enable": _COORDINATED,
        "transactional.id.expiration.ms": _COORDINATED,
    }
)
_OF_ALL_BY_PREFIX: Mapping[str, str] = MappingProxyType(
    {
        "delegation.token.": "a token holds on every node alike",
        "group.": _COORDINATED,
        "leader.imbalance.": "only the active controller reads it, and Kedge restores preferred leaders",
        "offsets.topic.": _INTERNAL,
        "share.coordinator.state.topic.": _INTERNAL,
        "transaction.state.log.": _INTERNAL,
    }
)
_OF_A_PROCESS = frozenset(
    {
        "group.coordinator.append.linger.ms",
        "group.coordinator.background.threads",
        "group.coordinator.cached.buffer.max.bytes",
        "group.coordinator.threads",
        "transaction.state.log.load.buffer.size",
    }
)
"""Threads and buffers of a broker, for all that their names say."""


def of_all_because(name: str) -> str | None:
    """Why every pool has to have one value of a property, None where each may have its own."""
    if name in _OF_A_PROCESS:
        return None
    if name in _TOPIC_DEFAULTS or time_setting(name) is not None:
        return _TOPIC
    if name in _OF_ALL:
        return _OF_ALL[name]
    return next((why for prefix, why in _OF_ALL_BY_PREFIX.items() if name.startswith(prefix)), None)
