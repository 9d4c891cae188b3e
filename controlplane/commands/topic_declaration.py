"""What is recorded of a topic's document. Pure."""

from events import topic_facts as facts
from events.spec.model import KafkaClusterDocument
from events.spec.topic_model import KafkaTopicDocument
from events.spec.topic_tiers import effective_config, effective_replicas


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
