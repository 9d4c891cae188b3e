"""Where agents send what they measure. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from agent.wire import MetricsTopic
from controlplane.background.metric_pipeline.sources import metrics_home
from controlplane.cluster.gateways import bootstrap_of
from controlplane.cluster.view import ClusterView
from events.spec.settings import broker_count
from spark.metrics.topic import MOST_REPLICAS, SHARED_PARTITIONS, TOPIC, TOPIC_CONFIG


@dataclass(frozen=True, slots=True)
class MetricsTo:
    """The topic of each cluster itself; with `home`, the topic of that one for all."""

    home: ClusterView | None = None

    def topic_of(self, view: ClusterView) -> MetricsTopic | None:
        """For the agents of a cluster; None where there is no broker yet that could have it. As many replicas as the
        brokers that were asked for can hold, so one broker is enough. Where `home` speaks TLS it has those of its own
        agents alone."""
        home = self.home or view
        if home.document is None or (home.nodes_speak_tls and home.uid != view.uid):
            return None  # brokers that speak TLS let in their own nodes' agents, by their certificates, and no others
        replication = min(MOST_REPLICAS, broker_count(home.document.spec.pools))
        if self.home is None:
            return MetricsTopic(name=TOPIC, replication=replication, config=TOPIC_CONFIG, secured=home.nodes_speak_tls)
        bootstrap = ",".join(bootstrap_of(home))
        if not bootstrap:
            return None
        return MetricsTopic(
            name=TOPIC,
            bootstrap=bootstrap,
            partitions=SHARED_PARTITIONS,
            replication=replication,
            config=TOPIC_CONFIG,
            secured=home.nodes_speak_tls,
        )


def metrics_to(views: Sequence[ClusterView], *, metrics: bool, metrics_cluster: str) -> MetricsTo | None:
    """None where nothing is sent: agents are not to measure, or the cluster they are to send to is not there."""
    if not metrics:
        return None
    if not metrics_cluster:
        return MetricsTo()
    home = metrics_home(views, metrics_cluster)
    return None if home is None else MetricsTo(home)
