"""The topic agents send to, as the pipeline needs it; whoever makes topics takes it from here."""

TOPIC = "__kedge_metrics"
"""A leading double underscore: tools that list a user's topics leave it out."""

MOST_REPLICAS = 3

SHARED_PARTITIONS = 4
"""Of the one topic all clusters send to, where there is one."""

TOPIC_CONFIG = {
    "min.insync.replicas": "1",
    "message.timestamp.type": "LogAppendTime",
    "retention.ms": str(6 * 3_600_000),
    "segment.ms": str(3_600_000),
    "max.message.bytes": str(8 * 2**20),
    "compression.type": "producer",
}
"""LogAppendTime: Kafka stamps records with its own clock, so an agent's old spool is not deleted by retention before it
is read, and an agent's clock that runs ahead is seen. One replica in sync is enough: no broker's restart or replacement
ever waits for metrics. Six hours: the pipeline may be down that long. A broker with
100,000 replicas sends 3.5 MB before compression. One partition per 100 brokers is plenty."""
