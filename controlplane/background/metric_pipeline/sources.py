"""Which topics of metrics are to be read, by what is known of the fleet. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from controlplane.cluster.external_brokers import is_shared
from controlplane.cluster.gateways import bootstrap_of
from controlplane.cluster.view import ClusterView
from spark.metrics.topic import TOPIC
from spark.pipeline.sources import MetricSource, Sources

SHARED = "shared-"
"""Before the uid of the metrics cluster, in the name of the one source of all clusters."""


@dataclass(frozen=True, slots=True)
class WantedSources:
    """What is to be read, and, where that is nothing, why."""

    sources: Sources
    why_none: str = ""


def wanted_sources(views: Sequence[ClusterView], metrics_cluster: str = "") -> WantedSources:
    """Each cluster's own topic; with `metrics_cluster`, the name of the one that all agents send to, that one alone."""
    if metrics_cluster:
        return _of_all(views, metrics_cluster)
    sources = tuple(
        MetricSource(name=str(view.uid), bootstrap=bootstrap, topic=TOPIC, only=str(view.uid))
        for view in views
        if _is_read(view) and (bootstrap := bootstrap_of(view))
    )
    return WantedSources(tuple(sorted(sources)), "" if sources else "no cluster has brokers that serve yet")


def metrics_home(views: Sequence[ClusterView], metrics_cluster: str) -> ClusterView | None:
    """The cluster of that name which may have the metrics of all; None where there is none."""
    return next((view for view in views if view.name == metrics_cluster and _is_read(view)), None)


def _of_all(views: Sequence[ClusterView], name: str) -> WantedSources:
    home = metrics_home(views, name)
    if home is None:
        return WantedSources(
            (), f"there is no cluster {name!r} of Kedge's own brokers, which `telemetry.metrics_cluster` names"
        )
    bootstrap = bootstrap_of(home)
    if not bootstrap:
        return WantedSources((), f"the cluster {name}, which has the metrics of all, has no brokers that serve yet")
    return WantedSources((MetricSource(name=f"{SHARED}{home.uid}", bootstrap=bootstrap, topic=TOPIC),))


def _is_read(view: ClusterView) -> bool:
    """Not where others run brokers: Kafka's answers name addresses that are dialled, which Kedge did not give. Nor of
    brokers that speak TLS, which Spark is not let in by yet."""
    return not view.deleted and not view.history.unreadable and not is_shared(view) and not view.nodes_speak_tls
