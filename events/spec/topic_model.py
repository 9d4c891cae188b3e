"""The `KafkaTopic` document: a topic as people ask for it, as frozen values. Judged by `events.spec.topic_rules`."""

from typing import Literal

from events.spec.fields import FieldClass, Part, classed
from events.spec.housekeeping import TierName
from events.spec.model import API_VERSION
from events.spec.scalars import CloudWord, DnsLabel, Flag, OneLine, PropertyKey, PropertyText, TopicName, Whole

TOPIC_KIND = "KafkaTopic"

DYNAMIC, BEHAVIOURAL, IDENTITY = FieldClass.DYNAMIC, FieldClass.BEHAVIOURAL, FieldClass.IDENTITY

MOST_PARTITIONS = 10_000

DeletionPolicy = Literal["retain", "delete"]
OnLoss = Literal["tell", "recreate"]


class TopicMetadata(Part):
    """Which topic it is, and whose."""

    name: TopicName = classed(IDENTITY, "Name of the topic, unless `spec.topicName` has another one.")
    owner: OneLine = classed(BEHAVIOURAL, "Team or person to ask. Shown, never interpreted.", default="")
    labels: dict[CloudWord, OneLine] = classed(BEHAVIOURAL, "Labels for people and searches.", default_factory=dict)


class TopicRate(Part):
    """How much is written to it while all is well. Told, never enforced."""

    min: Whole | None = classed(
        BEHAVIOURAL,
        "Records per second, all partitions together, that are written at least. Fewer in three windows of 5 min are "
        "an anomaly.",
        default=None,
        ge=1,
    )
    max: Whole | None = classed(
        BEHAVIOURAL, "Records per second that are written at most. More is an anomaly likewise.", default=None, ge=1
    )
    learn: Flag = classed(
        BEHAVIOURAL,
        "Learn what is usual from its own past, hour by hour, in place of `min` and `max`. It takes a week at least.",
        default=False,
    )


class TopicSpec(Part):
    """What the topic should be."""

    cluster: DnsLabel = classed(IDENTITY, "Name of the cluster it lives in.")
    topic_name: TopicName | None = classed(
        IDENTITY, "The topic's name in Kafka, where `metadata.name` is not it.", default=None
    )
    partitions: Whole = classed(
        DYNAMIC,
        "Number of partitions. It grows, never shrinks; keys of records go to other partitions after it grew.",
        ge=1,
        le=MOST_PARTITIONS,
    )
    replicas: Whole | None = classed(
        DYNAMIC,
        "Copies of each partition, a broker each. Without it the tier decides. A change moves replicas in throttled "
        "batches.",
        default=None,
        ge=1,
        le=9,
    )
    tier: TierName = classed(
        BEHAVIOURAL,
        "What is meant where nothing else is said: `critical` 3 replicas, min ISR 2, no unclean leaders; `standard` "
        "the cluster's own defaults; `scratch` one replica, lost with its disk.",
        default="standard",
    )
    config: dict[PropertyKey, PropertyText] = classed(
        DYNAMIC,
        "Topic configuration, as in `kafka-configs`. All of it is taken live; what is set in Kafka and stands neither "
        "here nor in the tier is taken back.",
        default_factory=dict,
    )
    deletion_policy: DeletionPolicy = classed(
        BEHAVIOURAL,
        "What a deletion confirmed with the topic's name does: `retain` leaves the topic and its records in Kafka, "
        "`delete` destroys them. A file that is gone deletes nothing, whatever this says.",
        default="retain",
    )
    on_loss: OnLoss = classed(
        BEHAVIOURAL,
        "When somebody deleted the topic outside Kedge: `tell` it as a condition, or `recreate` it, empty.",
        default="tell",
    )
    rate: TopicRate = classed(
        BEHAVIOURAL, "For a steady topic: what is written to it while all is well.", default_factory=TopicRate
    )


class KafkaTopicDocument(Part):
    """One document of a spec file, in the storage version."""

    api_version: Literal["kedge/v1alpha1"] = classed(
        BEHAVIOURAL, "Version of this format. Older ones are converted when they are read.", default=API_VERSION
    )
    kind: Literal["KafkaTopic"] = classed(IDENTITY, "Always `KafkaTopic`.", default=TOPIC_KIND)
    metadata: TopicMetadata = classed(IDENTITY, "Which topic it is, and whose.")
    spec: TopicSpec = classed(BEHAVIOURAL, "What the topic should be.")

    @property
    def topic(self) -> str:
        """The name of the topic in Kafka."""
        return self.spec.topic_name or self.metadata.name
