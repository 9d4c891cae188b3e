"""The audits of a cluster as the API and the pages tell them."""

from collections.abc import Mapping
from datetime import datetime

from controlplane.api.schemas import drift as drift_api
from controlplane.cluster.observed.cloud_drift import AuditNoted, asked_audits, kept_audits, network_label
from controlplane.cluster.places import places_of
from controlplane.cluster.view import ClusterView
from controlplane.storage.latest_values import LatestStore
from providers.base import Place


def drift_out(
    view: ClusterView, latest: LatestStore, networks: Mapping[Place, AuditNoted | None]
) -> drift_api.DriftOut:
    """Every place of the cluster, in their order, then the networks of Kedge's it is in. Raises StoreUnavailable."""
    noted = kept_audits(latest, view.uid)
    audits = [_audit(str(place), noted.get(str(place))) for place in places_of(view)]
    audits += [_audit(network_label(place), audit) for place, audit in networks.items()]
    return drift_api.DriftOut(cluster=view.name, asked_at=asked_audits(latest).get(view.uid), audits=audits)


def asked_out(view: ClusterView, at: datetime, *, is_busy: bool) -> drift_api.AuditAskedOut:
    """What was asked for, and when it is made."""
    when = "once nothing of it is in hand any more" if is_busy else "within a minute, if others do not run now"
    return drift_api.AuditAskedOut(
        asked_at=at, sentence=f"{view.name} is audited {when}; `kedge drift {view.name}` tells what was found"
    )


def _audit(place: str, noted: AuditNoted | None) -> drift_api.AuditOut:
    if noted is None:
        return drift_api.AuditOut(place=place, at=None, tried_at=None, resources=0, error="", drifts=[])
    return drift_api.AuditOut.like(
        noted,
        place=place,
        drifts=[drift_api.DriftedOut.like(d) for d in noted.drifts],
    )
