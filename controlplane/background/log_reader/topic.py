"""The topic of a cluster that its agents send lines of logs to."""

from agent.wire import LogsTopic
from controlplane.cluster.gateways import bootstrap_of
from controlplane.cluster.view import ClusterView
from events.spec.settings import broker_count

LOGS_TOPIC = "__kedge_logs"
"""A leading double underscore: no `KafkaTopic` may have such a name, and lists of a user's topics leave it out."""

MOST_REPLICAS = 3

LOGS_CONFIG = {
    "min.insync.replicas": "1",
    "cleanup.policy": "delete",
    "message.timestamp.type": "LogAppendTime",
    "retention.ms": str(3 * 24 * 3_600_000),
    "retention.bytes": str(2**30),
    "segment.bytes": str(64 * 2**20),
    "max.message.bytes": str(8 * 2**20),
    "compression.type": "producer",
}
"""One replica in sync is enough: no broker's restart or replacement ever waits for logs. Three days, and a GiB a
replica at most. Kafka stamps records with its own clock: what waited through a split is not old when it comes."""


def logs_topic(view: ClusterView) -> LogsTopic | None:
    """On the cluster itself, by all of its brokers: the lines of one that is down are told to the others."""
    bootstrap = bootstrap_of(view)
    if view.document is None or not bootstrap:
        return None
    brokers = broker_count(view.document.spec.pools)
    return LogsTopic(
        name=LOGS_TOPIC,
        bootstrap=",".join(bootstrap),
        replication=min(MOST_REPLICAS, brokers),
        config=LOGS_CONFIG,
        secured=view.nodes_speak_tls,
    )
