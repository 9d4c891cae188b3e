"""What is seen of a pair's name in DNS: a latest-value row that the reconciler of names writes, and what follows of it.

The row says what became of the last look, and when every answer of before is out of the caches of resolvers. It is
written before the zone is changed as well, so a server that dies in between leaves no row that tells the answer of
before. Rows may be lost: then answers of before are taken to live as long as they may at all.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from pydantic import TypeAdapter

from controlplane.fleet.failovers.seen import NamesSeen
from controlplane.fleet.failovers.view import PairView
from controlplane.storage.latest_values import LatestStore, LatestValue, Subject, read_as
from events.ids import ClusterUid
from events.spec.failover_model import LONGEST_TTL_S

FAILOVER_NAME: Final = "failover-name"
"""Kind of the latest-value rows; each is kept under the uid of its pair, where other rows have a cluster's."""


@dataclass(frozen=True, slots=True)
class PairNameRow:
    """What became of a pair's name at the last look. `wish` is what that look was for (`wish_of`)."""

    wish: str = ""
    lead_to: str = ""
    """The cluster, by uid, whose addresses the zone has, or is about to have."""
    addresses: tuple[str, ...] = ()
    problem: str = ""
    """Why it is not known, or not so; "" where nothing stands in the way."""
    is_pending: bool = True
    """Not every authoritative server tells it yet."""
    old_ttl_s: int = LONGEST_TTL_S
    """While it is pending: the longest life of the answers of before."""
    over_at: datetime | None = None
    """When those answers are over in every cache; None while that is not known."""
    counts_until: datetime | None = None
    """Behind that the row is too old to say anything."""


_ROW: Final = TypeAdapter(PairNameRow)


def wish_of(view: PairView) -> str:
    """What a look is for: the order in hand, its step, and where the name is to lead. What was seen for another wish
    says nothing about this one: an abort wants the name back that a look may be changing at that moment."""
    order = view.order.id if view.order is not None else "-"
    return f"{order} {view.state} {view.names_lead_to}"


def names_seen(latest: LatestStore, view: PairView, now: datetime) -> NamesSeen | None:
    """Where the pair's name leads by the last look, for whoever takes steps; None where that is not known: no look
    since the step in hand began, one that failed, or one of too long ago. `lead_to` is "" while not every
    authoritative server that Kedge asks tells the same. Raises StoreUnavailable."""
    if view.stands_still or view.is_withdrawn or not view.uid:
        return None
    found = latest.get(_subject(view.uid))
    row = _read(found)
    if found is None or row is None or row.problem or row.wish != wish_of(view):
        return None
    if row.counts_until is None or not found.observed_at <= now <= row.counts_until:
        return None
    if row.is_pending:
        return NamesSeen("", is_settled=False)
    return NamesSeen(row.lead_to, is_settled=row.over_at is not None and row.over_at <= now)


def pair_name_row(latest: LatestStore, uid: str) -> PairNameRow | None:
    """What became of the name of that pair at the last look, for people; None before the first. Raises
    StoreUnavailable."""
    return _read(latest.get(_subject(uid)))


def keep_row(latest: LatestStore, uid: str, row: PairNameRow, now: datetime) -> None:
    """Writes it down as seen now. Raises StoreUnavailable."""
    value: dict[str, Any] = _ROW.dump_python(row, mode="json")
    latest.put(LatestValue(_subject(uid), value, source="dns", observed_at=now))


def about_to_change(row: PairNameRow | None, view: PairView, old_ttl_s: int) -> PairNameRow:
    """Before the zone is changed. `old_ttl_s`: of the answer that is there, 0 for none. What was there before that may
    be kept as well, where not every server told the last change."""
    before = row or PairNameRow()
    kept_s = max(old_ttl_s, before.old_ttl_s) if before.is_pending else old_ttl_s
    return replace(before, wish=wish_of(view), lead_to=view.names_lead_to, is_pending=True, old_ttl_s=kept_s)


def looked(
    row: PairNameRow | None, view: PairView, addresses: Collection[str], *, is_everywhere: bool, now: datetime
) -> PairNameRow:
    """After a look that found the zone as it is to be; `is_everywhere`: on each of its servers. Answers of before may
    have been given until this moment where they were still told at the look before."""
    before = row or PairNameRow()
    told = replace(
        before, wish=wish_of(view), lead_to=view.names_lead_to, addresses=tuple(sorted(addresses)), problem=""
    )
    # Nobody wrote down what was there before: a person changed it, or a server was added that lags.
    is_news = not before.is_pending and (before.lead_to != view.names_lead_to or not is_everywhere)
    if is_news:
        told = replace(told, is_pending=True, old_ttl_s=LONGEST_TTL_S)
    if not told.is_pending or not is_everywhere:
        return told
    over_at = now + timedelta(seconds=told.old_ttl_s)
    return replace(told, is_pending=False, old_ttl_s=0, over_at=max(over_at, before.over_at or over_at))


def failed(row: PairNameRow | None, view: PairView, problem: str) -> PairNameRow:
    """After a look that failed. What is pending stays so."""
    return replace(row or PairNameRow(), wish=wish_of(view), problem=problem)


def _subject(uid: str) -> Subject:
    return Subject(FAILOVER_NAME, ClusterUid(uid), "bootstrap")


def _read(found: LatestValue | None) -> PairNameRow | None:
    return read_as(_ROW, found) if found is not None else None
