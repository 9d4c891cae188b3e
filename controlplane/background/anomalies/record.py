"""The open anomalies of a cluster in short, as a latest-value row: read for the whole fleet at once. It may be lost."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from pydantic import TypeAdapter

from controlplane.background.anomalies.fold import AnomalyFold
from controlplane.storage.latest_values import LatestStore, LatestValue, Subject, read_by_cluster
from events.ids import ClusterUid
from planner.anomalies.kinds import Kind, State

ANOMALIES_NOTED = "anomalies-noted"
_SUBJECT = "anomalies"


@dataclass(frozen=True, slots=True)
class AnomalyNoted:
    """One that is open."""

    kind: Kind
    subject: str
    state: State
    found_at: datetime


@dataclass(frozen=True, slots=True)
class AnomaliesNoted:
    """Those of a cluster, and how many were ever found."""

    open_: tuple[AnomalyNoted, ...] = ()
    found: int = 0


_NOTED: TypeAdapter[AnomaliesNoted] = TypeAdapter(AnomaliesNoted)


def keep_noted(latest: LatestStore, uid: ClusterUid, fold: AnomalyFold, at: datetime) -> None:
    """Raises StoreUnavailable."""
    short = tuple(AnomalyNoted(a.kind, a.subject, a.state, a.found_at) for a in fold.open_.values())
    value = _NOTED.dump_python(AnomaliesNoted(short, fold.found), mode="json")
    latest.put_all([LatestValue(Subject(ANOMALIES_NOTED, uid, _SUBJECT), value, "events", at)])


def noted_of(rows: Iterable[LatestValue]) -> dict[ClusterUid, AnomaliesNoted]:
    """Rows of `ANOMALIES_NOTED` by cluster; those another release wrote are left out until they are written anew."""
    return read_by_cluster(_NOTED, rows)


def noted(latest: LatestStore, uid: ClusterUid) -> AnomaliesNoted:
    """Those of one cluster; none where the row was lost, until it is written anew. Raises StoreUnavailable."""
    row = latest.get(Subject(ANOMALIES_NOTED, uid, _SUBJECT))
    return noted_of([row] if row is not None else []).get(uid, AnomaliesNoted())
