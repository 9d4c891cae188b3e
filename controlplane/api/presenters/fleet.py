"""Clusters as the list shows them, a row each: for the page of the fleet and for the search."""

from collections.abc import Iterable
from dataclasses import dataclass

from controlplane.api.presenters import clusters as answers
from controlplane.api.presenters.sources import source_of_cluster
from controlplane.api.read_models.cluster_words import Word, health_word, sync_word
from controlplane.api.schemas import clusters as api
from controlplane.api.services import PortalServices
from controlplane.cluster.observed.agent_reports import AGENT_FINDINGS, unhealthy_clusters
from controlplane.cluster.view import ClusterView

_ENVIRONMENT = ("environment", "env")
"""Labels that say it, the first one there counts."""


@dataclass(frozen=True, slots=True)
class FleetRow:
    """One cluster as the list shows it. Counts of partitions are None where Kafka was not read."""

    cluster: api.ClusterOut
    team: str
    sync: Word
    health: Word
    under_replicated: int | None
    offline: int | None
    environment: str
    """As its labels say, "" where none does."""


def fleet_rows(services: PortalServices) -> list[FleetRow]:
    """A line for each living cluster, in no order."""
    sick = unhealthy_clusters(services.cluster.latest.of_kind(AGENT_FINDINGS), services.clock())
    return [_row(services, v, ails=v.uid in sick) for v in services.fleet.clusters.views() if not v.deleted]


def rows_like(rows: Iterable[FleetRow], *, text: str, health: str) -> list[FleetRow]:
    """Those with the text in their name, team or environment, of that health; "" for any."""
    found = [r for r in rows if text.lower() in f"{r.cluster.name} {r.team} {r.environment}".lower()]
    return [r for r in found if health in ("", r.health.text)]


def fleet_row(services: PortalServices, view: ClusterView) -> FleetRow:
    """The line of one cluster."""
    marks = services.cluster.latest.of_cluster(view.uid, AGENT_FINDINGS)
    return _row(services, view, ails=bool(unhealthy_clusters(marks, services.clock())))


def _row(services: PortalServices, view: ClusterView, *, ails: bool) -> FleetRow:
    snapshot, source, now = (
        services.fleet.clusters.last_snapshot(view.uid),
        source_of_cluster(services, view),
        services.clock(),
    )
    return FleetRow(
        cluster=answers.cluster_out(
            view, services.fleet.clusters, now=now, progress=services.cluster.progress(view), source=source
        ),
        team=view.document.metadata.owner if view.document else "",
        sync=sync_word(view, source.sync),
        health=health_word(view, snapshot, now, ails=ails),
        under_replicated=len(snapshot.under_replicated()) if snapshot else None,
        offline=len(snapshot.leaderless()) if snapshot else None,
        environment=_environment(view),
    )


def _environment(view: ClusterView) -> str:
    labels = view.document.metadata.labels if view.document else {}
    return next((labels[key] for key in _ENVIRONMENT if key in labels), "")
