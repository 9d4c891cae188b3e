"""What is kept of the last audit of a cluster in a place, as latest-value rows; and that somebody asked for one."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from pydantic import TypeAdapter

from controlplane.cluster.places import places_of
from controlplane.cluster.view import ClusterView
from controlplane.storage.latest_values import LatestStore, LatestValue, Subject, read_as
from events.ids import ClusterUid
from providers.audits import Drift
from providers.base import Place

CLOUD_DRIFT = "cloud-drift"
"""Kind of the rows; the name is the place."""
AUDIT_ASKED = "cloud-audit-asked"
"""Kind of the row that says when somebody last asked for an audit of a cluster."""


@dataclass(frozen=True, slots=True)
class AuditNoted:
    """The last audit. `at` is the last one that ended well, and `drifts` what it found of `resources` things.

    `tried_at` is the last one at all, `error` why that one told nothing.
    """

    tried_at: datetime
    at: datetime | None = None
    resources: int = 0
    drifts: tuple[Drift, ...] = ()
    error: str = ""


Noted = Mapping[str, AuditNoted]
"""The last audits of one cluster by place."""

_NOTED: TypeAdapter[AuditNoted] = TypeAdapter(AuditNoted)
DRIFTS: TypeAdapter[tuple[Drift, ...]] = TypeAdapter(tuple[Drift, ...])


def keep_audit(latest: LatestStore, uid: ClusterUid, place: str, noted: AuditNoted) -> None:
    """Keeps it. Raises StoreUnavailable."""
    value = _NOTED.dump_python(noted, mode="json")
    latest.put(LatestValue(Subject(CLOUD_DRIFT, uid, place), value, source="terraform", observed_at=noted.tried_at))


def kept_audits(latest: LatestStore, uid: ClusterUid) -> Noted:
    """The last audits of one cluster. Raises StoreUnavailable."""
    return _by_cluster(latest.of_cluster(uid, CLOUD_DRIFT)).get(uid, {})


def all_audits(latest: LatestStore) -> dict[ClusterUid, dict[str, AuditNoted]]:
    """Those of the whole fleet, in one read. Raises StoreUnavailable."""
    return _by_cluster(latest.of_kind(CLOUD_DRIFT))


def ask_for_audit(latest: LatestStore, uid: ClusterUid, at: datetime) -> None:
    """The next round audits the cluster, whenever its turn would be. Raises StoreUnavailable."""
    latest.put(LatestValue(Subject(AUDIT_ASKED, uid, "cluster"), {}, source="person", observed_at=at))


def asked_audits(latest: LatestStore) -> Mapping[ClusterUid, datetime]:
    """When an audit was last asked for, of clusters where it ever was. Raises StoreUnavailable."""
    return {row.subject.cluster_uid: row.observed_at for row in latest.of_kind(AUDIT_ASKED)}


def audited_places(view: ClusterView, noted: Noted) -> Mapping[Place, AuditNoted]:
    """The last audits of the places the cluster is in now; those it has left say nothing any more."""
    return {place: noted[str(place)] for place in places_of(view) if str(place) in noted}


def network_label(place: Place) -> str:
    """What the audit of a place's network stands under, beside those of the places themselves."""
    return f"network {place.network} in {place}"


def audited_networks(view: ClusterView, noted: Noted) -> Mapping[Place, AuditNoted]:
    """The last audits of the networks the cluster is in now, of those Kedge made."""
    return {place: noted[label] for place in places_of(view) if (label := network_label(place)) in noted}


def _by_cluster(rows: Iterable[LatestValue]) -> dict[ClusterUid, dict[str, AuditNoted]]:
    found: dict[ClusterUid, dict[str, AuditNoted]] = {}
    for row in rows:
        noted = read_as(_NOTED, row)  # what another release wrote is audited again
        if noted is not None:
            found.setdefault(row.subject.cluster_uid, {})[row.subject.name] = noted
    return found
