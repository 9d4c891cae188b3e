"""The whole log as people look through it: filtered, page by page, and where in it a moment is."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from controlplane.storage.streams import anomalies_stream, anomalies_uid_of, cluster_stream, cluster_uid_of
from events.envelope import Recorded
from events.ids import ClusterUid
from events.store import EventStore

_AT_ONCE = 1000
MOST_LOOKED_AT = 20_000
"""Events of the whole log one answer looks through: where a filter finds little, the next page goes on from there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventQuery:
    """What is looked for. `clusters`: those whose events may be shown, with `others` what concerns no single cluster.

    `only`: a few clusters alone. `type` is how an event's type begins, `actor` a part of who did it. `before` is the
    position to go back from, `after` one to go on from, oldest first; 0 is the newest.
    """

    clusters: Collection[ClusterUid] = ()
    others: bool = False
    only: Collection[ClusterUid] | None = None
    type: str = ""
    actor: str = ""
    since: datetime | None = None
    until: datetime | None = None
    before: int = 0
    after: int | None = None
    limit: int = 100


@dataclass(frozen=True, slots=True)
class FoundEvents:
    """Events that match, in the order asked for. `looked_to` is the position up to which that was looked through;
    where `is_all`, nothing lies beyond it.
    """

    events: Sequence[Recorded]
    head: int
    looked_to: int
    is_all: bool


def uid_of(stream: str) -> ClusterUid | None:
    """The cluster an event of that stream is about, None for what concerns no single one."""
    return cluster_uid_of(stream) or anomalies_uid_of(stream)


def redacted_event(event: Recorded, without_others: Callable[[str], str]) -> Recorded:
    """The event as it may be told: what the loop said of a cluster then names no cluster of others, as on its page."""
    if event.type != "condition.changed":
        return event
    said = str(event.data.get("message", ""))
    redacted = without_others(said)
    return event if redacted == said else replace(event, data={**event.data, "message": redacted})


def browse(store: EventStore, asked: EventQuery) -> FoundEvents:
    """A page of the log. Raises StoreUnavailable."""
    head = store.head()
    first, last = 1, head
    if asked.since is not None:
        first = position_at(store, asked.since, head=head, inclusive=False) + 1
    if asked.until is not None:
        last = min(last, position_at(store, asked.until, head=head))
    if asked.after is not None:
        first = max(first, asked.after + 1)
    elif asked.before:
        last = min(last, asked.before - 1)
    if asked.only is None:
        return _scanned(store, asked, first, last, head)
    few = [e for e in _of_clusters(store, asked.only) if first <= e.position <= last and _matches(e, asked)]
    few.sort(key=lambda e: e.position, reverse=asked.after is None)
    page = few[: asked.limit]
    is_all = len(few) <= asked.limit
    return FoundEvents(page, head, page[-1].position if page and not is_all else _end(asked, first, last), is_all)


def position_at(store: EventStore, moment: datetime, *, head: int, inclusive: bool = True) -> int:
    """The last position recorded by then, 0 where that is before everything. By halves: clocks of several servers may
    differ a little, so events of the same moment may stand on either side.
    """
    low, high = 0, head
    while low < high:
        middle = (low + high + 1) // 2
        found = store.read_all(middle - 1, limit=1)
        at = found[0].recorded_at if found else None
        if at is not None and (at < moment or (inclusive and at == moment)):
            low = middle
        else:
            high = middle - 1
    return low


def _scanned(store: EventStore, asked: EventQuery, first: int, last: int, head: int) -> FoundEvents:
    """Position by position: there is no gap, so pages are read backwards as well as forwards."""
    found: list[Recorded] = []
    looked_to, looked_at = _begin(asked, first, last), 0
    for event in _walked(store, first, last, forwards=asked.after is not None):
        if len(found) == asked.limit or looked_at == MOST_LOOKED_AT:
            return FoundEvents(found, head, looked_to, False)
        looked_at, looked_to = looked_at + 1, event.position
        if _matches(event, asked):
            found.append(event)
    return FoundEvents(found, head, _end(asked, first, last), True)


def _walked(store: EventStore, first: int, last: int, *, forwards: bool) -> Iterator[Recorded]:
    at = first if forwards else last
    while first <= at <= last:
        begins = at if forwards else max(first, at - _AT_ONCE + 1)
        ends = min(last, at + _AT_ONCE - 1) if forwards else at
        page = store.read_all(begins - 1, limit=ends - begins + 1)
        yield from page if forwards else reversed(page)
        at = ends + 1 if forwards else begins - 1


def _of_clusters(store: EventStore, uids: Collection[ClusterUid]) -> Iterator[Recorded]:
    for uid in uids:
        yield from store.read_stream(cluster_stream(uid))
        yield from store.read_stream(anomalies_stream(uid))


def _matches(event: Recorded, asked: EventQuery) -> bool:
    uid = uid_of(event.stream)
    may = asked.others if uid is None else uid in asked.clusters
    return may and event.type.startswith(asked.type) and asked.actor.lower() in event.actor.lower()


def _begin(asked: EventQuery, first: int, last: int) -> int:
    return first - 1 if asked.after is not None else last + 1


def _end(asked: EventQuery, first: int, last: int) -> int:
    return max(last, first - 1) if asked.after is not None else min(first, last + 1)
