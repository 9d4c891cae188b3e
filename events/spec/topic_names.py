"""Names of topics that are taken: a rule of Kafka's and of Kedge's own names, and of no others.

Two underscores say nothing: change data capture, metrics reporters and replicators call their topics so by default.
"""

KAFKAS_OWN = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"})
"""`Topic.INTERNAL_TOPICS` of Kafka 4.3, and the metadata log, which no topic may be called (`Topic.java`). Brokers of a
newer line may have more: their metadata says of each topic whether it is internal."""

KEDGES_PREFIX = "__kedge_"
HEARTBEATS = "__kedge_heartbeats"
"""Of the topics Kedge makes for heartbeats, metrics, logs and the audit."""


def owner_of(topic: str) -> str:
    """`Kafka` or `Kedge` where one of them makes and keeps the topic by itself; "" for a topic of people."""
    if topic in KAFKAS_OWN:
        return "Kafka"
    return "Kedge" if topic.startswith(KEDGES_PREFIX) else ""
