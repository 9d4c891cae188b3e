"""Which topics of metrics are to be read, by what is known of the fleet. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from controlplane.cluster.external_brokers import is_shared
from controlplane.cluster.gateways import bootstrap_of
from controlplane.cluster.view import ClusterView
from events.ids import ClusterUid
from spark.metrics.broker_tls import ReaderTls
from spark.metrics.topic import TOPIC
from spark.pipeline.sources import MetricSource, Sources

SHARED = "shared-"
"""Before the uid of the metrics cluster, in the name of the one source of all clusters."""


@dataclass(frozen=True, slots=True)
class WantedSources:
    """What is to be read, and, where that is nothing, why. `left_out`: clusters that cannot be read, by name, and
    why."""

    sources: Sources
    why_none: str = ""
    left_out: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReaderTlsOf:
    """What brokers that speak TLS are shown, by cluster, or why there is nothing to show."""

    shown: Mapping[ClusterUid, ReaderTls] = field(default_factory=dict)
    why_not: Mapping[ClusterUid, str] = field(default_factory=dict)


_NONE = ReaderTlsOf()


def wanted_sources(views: Sequence[ClusterView], metrics_cluster: str = "", tls: ReaderTlsOf = _NONE) -> WantedSources:
    """Each cluster's own topic; with `metrics_cluster`, the name of the one that all agents send to, that one alone."""
    if metrics_cluster:
        return _of_all(views, metrics_cluster, tls)
    left_out = {view.name: why for view in views if _is_read(view) and (why := tls.why_not.get(view.uid))}
    sources = tuple(
        MetricSource(
            name=str(view.uid), bootstrap=bootstrap, topic=TOPIC, only=str(view.uid), tls=tls.shown.get(view.uid)
        )
        for view in sorted(views, key=lambda view: view.uid)
        if _is_read(view) and view.uid not in tls.why_not and (bootstrap := bootstrap_of(view))
    )
    why_none = "; ".join(f"{name}: {why}" for name, why in left_out.items()) or "no cluster has brokers that serve yet"
    return WantedSources(sources, "" if sources else why_none, left_out)


def metrics_home(views: Sequence[ClusterView], metrics_cluster: str) -> ClusterView | None:
    """The cluster of that name which may have the metrics of all; None where there is none."""
    return next((view for view in views if view.name == metrics_cluster and _is_read(view)), None)


def _of_all(views: Sequence[ClusterView], name: str, tls: ReaderTlsOf) -> WantedSources:
    home = metrics_home(views, name)
    if home is None:
        return WantedSources(
            (), f"there is no cluster {name!r} of Kedge's own brokers, which `telemetry.metrics_cluster` names"
        )
    bootstrap = bootstrap_of(home)
    if not bootstrap:
        return WantedSources((), f"the cluster {name}, which has the metrics of all, has no brokers that serve yet")
    if why := tls.why_not.get(home.uid):
        return WantedSources((), f"the cluster {name}, which has the metrics of all, cannot be read: {why}")
    shown = tls.shown.get(home.uid)
    return WantedSources((MetricSource(name=f"{SHARED}{home.uid}", bootstrap=bootstrap, topic=TOPIC, tls=shown),))


def _is_read(view: ClusterView) -> bool:
    """Not where others run brokers: Kafka's answers name addresses that are dialled, which Kedge did not give."""
    return not view.deleted and not view.history.unreadable and not is_shared(view)
