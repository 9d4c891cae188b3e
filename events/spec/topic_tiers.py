"""Tiers: how many copies a topic gets, and what it is set to, where its document says nothing itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from events.spec.housekeeping import AntiAffinity, Placement
from events.spec.model import KafkaClusterDocument
from events.spec.settings import DEFAULT_MIN_ISR, DEFAULT_RF, as_integer, shape_defaults
from events.spec.topic_model import KafkaTopicDocument

MIN_ISR = "min.insync.replicas"


@dataclass(frozen=True, slots=True)
class Tier:
    """`replicas` and `anti_affinity` None: as the cluster's default says."""

    replicas: int | None
    config: Mapping[str, str]
    anti_affinity: AntiAffinity | None = None


TIERS: Mapping[str, Tier] = MappingProxyType(
    {
        "critical": Tier(3, MappingProxyType({MIN_ISR: "2", "unclean.leader.election.enable": "false"}), "strict"),
        "standard": Tier(None, MappingProxyType({})),
        "scratch": Tier(1, MappingProxyType({MIN_ISR: "1"})),
    }
)


def effective_config(document: KafkaTopicDocument) -> dict[str, str]:
    """The whole configuration the topic is to have of its own, sorted by key: the tier's, then the document's."""
    return dict(sorted({**TIERS[document.spec.tier].config, **document.spec.config}.items()))


def said_replicas(document: KafkaTopicDocument) -> int | None:
    """Copies by the document or its tier; None where the cluster's default is to decide."""
    return document.spec.replicas or TIERS[document.spec.tier].replicas


def effective_replicas(document: KafkaTopicDocument, cluster: KafkaClusterDocument) -> int:
    """Copies of each partition in this cluster."""
    return said_replicas(document) or cluster_default(cluster, DEFAULT_RF, 1)


def effective_min_isr(document: KafkaTopicDocument, cluster: KafkaClusterDocument) -> int:
    """The min ISR as it will be in force: the topic's own, or the cluster's default."""
    own = as_integer(effective_config(document).get(MIN_ISR, ""))
    return own if own is not None else cluster_default(cluster, DEFAULT_MIN_ISR, 1)


def anti_affinity_of(placement: Placement, topic: str, tier: str | None) -> AntiAffinity:
    """What is asked of a topic's replicas: by its name, then by its tier (None: it is not declared), then of all."""
    asked = next((asked for name, asked in placement.tiers.items() if name == tier), None)
    usual = TIERS[tier].anti_affinity if tier is not None and tier in TIERS else None
    return placement.topics.get(topic) or asked or usual or placement.anti_affinity


def cluster_default(cluster: KafkaClusterDocument, key: str, otherwise: int) -> int:
    """A number the cluster's brokers are started with."""
    spec = cluster.spec
    found = as_integer({**shape_defaults(spec.kafka, spec.pools), **spec.kafka.config}.get(key, ""))
    return found if found is not None else otherwise
