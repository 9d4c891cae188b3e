"""When an audit is due: once in a period, each cluster and place at its own moment of it. Pure."""

import hashlib
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from controlplane.cluster.observed.cloud_drift import AuditNoted

TRY_AGAIN = timedelta(minutes=30)
"""After an audit that told nothing: the cloud was away, its calls used up, a run came in between."""

_EPOCH = datetime(2020, 1, 1, tzinfo=UTC)


@lru_cache(maxsize=65_536)
def share_of_period(uid: str, place: str) -> float:
    """Where in each period its turn is, 0 to 1: the same for ever, and spread evenly over the fleet."""
    digest = hashlib.sha256(f"{uid}\0{place}".encode()).digest()
    return int.from_bytes(digest[:8]) / 2**64


def turn_before(uid: str, place: str, now: datetime, every: timedelta) -> datetime:
    """Its last turn."""
    first = _EPOCH + share_of_period(uid, place) * every
    return first + (now - first) // every * every


def is_due(
    uid: str,
    place: str,
    noted: AuditNoted | None,
    *,
    now: datetime,
    every: timedelta,
    settled_at: datetime,
    asked_at: datetime | None,
) -> bool:
    """Whether to audit now. `settled_at` is when the cluster last did anything: what is new waits for its turn, and
    what was found is looked at again after the cluster was worked on.
    """
    tried = noted.tried_at if noted is not None else None
    if asked_at is not None and (tried is None or tried < asked_at):
        return True
    if noted is not None and noted.error and now - noted.tried_at >= TRY_AGAIN:
        return True
    if noted is not None and noted.drifts and tried is not None and tried < settled_at:
        return True
    return (tried or settled_at) < turn_before(uid, place, now, every)
