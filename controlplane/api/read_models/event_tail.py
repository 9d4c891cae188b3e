"""Open pages hear that something has changed: server-sent events, each with the position of the event log as its id.

The stream says *that*, never *what*: the page asks for itself again, and is drawn from the fold like any other time. So
a message that is lost, doubled or late does no harm, and a browser that comes back with the last id it saw is told at
once if it missed anything. One tailer reads the log for everybody; who waits holds no thread and no connection.
"""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from fastapi import APIRouter, Header, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from controlplane.api.access.caller import Caller
from controlplane.api.access.rights import Rights
from controlplane.api.access.roles import Verb
from controlplane.api.feed import RECHECK_EVERY_S
from controlplane.api.problems import ApiError
from controlplane.api.services import Fleet, PortalServices
from controlplane.cluster.view import ClusterView
from controlplane.fleet.failovers.state import PairsView
from controlplane.runtime.process_errors import TROUBLES
from events.errors import EventsError
from events.ids import ClusterUid
from events.store import EventStore
from planner.observed import KafkaSnapshot, once_a_reading

LOOK_EVERY_S = 0.2
PING_EVERY_S = 15.0
"""Between two signs of life."""
MOST_OF_ONE = 24
"""Streams of one person: a browser holds one, one a page where it cannot share it."""

router = APIRouter(tags=["pages"], include_in_schema=False)

READS_COUNT_EVERY_S = 10
"""With work in hand Kafka is read each tick: pages follow its metadata that often, and what ails at once."""

_NOT_READ = (0, 0, 0, 0, 0)


class Pulse(NamedTuple):
    """What a page of a cluster shows is drawn anew when this changes.

    `ails` counts live brokers, and partitions that lack a replica, a leader, their min ISR, or move; `read` changes
    with new metadata, and concerns pages of that cluster alone: the list of the fleet shows nothing else of it. `pair`
    counts what was recorded of the pair it is of.
    """

    version: int
    sentence: str
    ails: tuple[int, ...] = _NOT_READ
    read: int = 0
    pair: int = 0


@dataclass(frozen=True, slots=True)
class Look:
    """What one look of the tailer found: the log's head, and the pulse of each living cluster."""

    head: int
    pulses: dict[ClusterUid, Pulse]


class Tailer:
    """Looks a few times a second while anybody listens. For one event loop at a time; `close` from any thread."""

    def __init__(
        self,
        store: EventStore,
        fleet: Fleet,
        *,
        pairs: Callable[[], PairsView] = PairsView,
        look_every_s: float = LOOK_EVERY_S,
        recheck_every_s: float = RECHECK_EVERY_S,
    ) -> None:
        self._store = store
        self._fleet = fleet
        self._pairs = pairs
        self._pairs_seen = PairsView()
        self._look_every_s = look_every_s
        self.recheck_every_s = recheck_every_s
        self._last: Look | None = None
        self._listening: dict[str, int] = {}
        self._looking: asyncio.Task[None] | None = None
        self._news = asyncio.Condition()
        self._closing = False

    async def polls(self, who: str) -> AsyncGenerator[Look | None]:
        """The newest look whenever it differs from the one given before; None as a sign of life. Ends at a stop."""
        self._listening[who] = self._listening.get(who, 0) + 1
        try:
            self._look_from_now_on()
            given: Look | None = None
            while not self._closing:
                if self._last is not None and self._last is not given:
                    given = self._last
                    yield given
                if not await self._changed(given):
                    yield None
        finally:
            self._listening[who] -= 1
            if not self._listening[who]:
                del self._listening[who]

    @property
    def listeners(self) -> int:
        """Streams that are open now."""
        return sum(self._listening.values())

    def is_too_much(self, who: str) -> bool:
        """Whether that person listens as often as anybody may."""
        return self._listening.get(who, 0) >= MOST_OF_ONE

    def close(self) -> None:
        """Sends everybody who listens away at the next look: the server stops."""
        self._closing = True

    async def _changed(self, given: Look | None) -> bool:
        """Waits for another look than that; False when time for a sign of life has come."""
        try:
            # Half of it: news just before a look at somebody's rights must not put that off by a whole one.
            async with asyncio.timeout(self.recheck_every_s / 2), self._news:
                await self._news.wait_for(lambda: self._closing or self._last not in (None, given))
            return True
        except TimeoutError:
            return False

    def _look_from_now_on(self) -> None:
        loop = asyncio.get_running_loop()
        if self._looking is None or self._looking.done() or self._looking.get_loop() is not loop:
            self._news = asyncio.Condition()
            self._looking = loop.create_task(self._look())

    async def _look(self) -> None:
        while self._listening and not self._closing:
            with TROUBLES.turn("live pages"):  # whoever listens has nobody else who looks
                found = await run_in_threadpool(self._look_now)
                if found != self._last:
                    async with self._news:
                        self._last = found
                        self._news.notify_all()
            await asyncio.sleep(self._look_every_s)
        async with self._news:
            self._news.notify_all()

    def _look_now(self) -> Look | None:
        try:
            head = self._store.head()
            if self._last is None or head != self._last.head:
                self._fleet.catch_up()
                self._pairs_seen = self._pairs()
        except EventsError:
            return self._last  # the database is away: pages say how old they are, and go on later
        living = [view for view in self._fleet.views() if not view.deleted]
        return Look(head, {v.uid: _pulse(self._fleet, v, self._pairs_seen) for v in living})


@router.get("/live")
async def live(
    request: Request,
    rights: Caller,
    cluster: Annotated[str, Query(max_length=64)] = "",
    seen: Annotated[int | None, Query(ge=0)] = None,
    last_event_id: Annotated[str, Header()] = "",
) -> StreamingResponse:
    """The stream of one cluster by its uid, or of all a caller may read.

    It goes on from `seen`, the position the page was drawn from, and after a lost connection from `Last-Event-ID`.
    """
    services: PortalServices = request.app.state.services
    tailer: Tailer = request.app.state.tailer
    if tailer.is_too_much(rights.subject):
        then = "Close some of the open pages."
        raise ApiError(429, "too-many-streams", "too many live pages of one person", next_step=then)
    is_position = last_event_id.isascii() and last_event_id.isdigit() and len(last_event_id) < 19
    seen = int(last_event_id) if is_position else seen
    listener = _Listener(services, rights, request.state.recheck, ClusterUid(cluster) if cluster else None)
    headers = {"X-Accel-Buffering": "no"}
    return StreamingResponse(_stream(tailer, listener, seen), media_type="text/event-stream", headers=headers)


@dataclass(slots=True)
class _Listener:
    services: PortalServices
    rights: Rights
    recheck: Callable[[], Awaitable[Rights | None]]
    only: ClusterUid | None

    async def is_welcome(self) -> bool:
        """Whether the session or token still opens anything, with the rights as they are by now."""
        now_has = await self.recheck()
        self.rights = now_has or self.rights
        return now_has is not None

    @property
    def sees_all(self) -> bool:
        """Whether there is no cluster they may not read."""
        return self.rights.may_everywhere(Verb.READ)

    def pulse(self, look: Look) -> dict[ClusterUid, Pulse]:
        """What of a look is this listener's business."""
        wanted = look.pulses if self.only is None else {u: look.pulses[u] for u in (self.only,) if u in look.pulses}
        if self.sees_all:
            return wanted
        visible = {view.uid for view in self.services.fleet.clusters.views() if self.rights.may_on(Verb.READ, view)}
        return {uid: pulse for uid, pulse in wanted.items() if uid in visible}


async def _stream(tailer: Tailer, listener: _Listener, seen: int | None) -> AsyncIterator[str]:
    yield "retry: 1000\n\n"
    async with aclosing(tailer.polls(listener.rights.subject)) as polls:
        async for message in _messages(polls, listener, seen, recheck_every_s=tailer.recheck_every_s):
            yield message


async def _messages(
    polls: AsyncIterator[Look | None], listener: _Listener, seen: int | None, *, recheck_every_s: float
) -> AsyncIterator[str]:
    sent: dict[ClusterUid, Pulse] | None = None
    looked_at = told_at = time.monotonic()
    async for look in polls:
        if time.monotonic() - looked_at >= recheck_every_s:
            looked_at, had = time.monotonic(), listener.rights
            if not await listener.is_welcome():
                yield _message("over", {}, seen or 0)
                return
            if not listener.rights.same_as(had):
                # The page draws itself anew and comes back, with what it may see from now on.
                yield _message("changed", {"position": seen or 0}, seen or 0)
                return
        if look is None:
            if time.monotonic() - told_at >= PING_EVERY_S:
                told_at = time.monotonic()
                yield ": still here\n\n"
            continue
        # A thread only where views are looked through: that takes the fold's lock, and as many hops as there are pages.
        pulse = listener.pulse(look) if listener.sees_all else await run_in_threadpool(listener.pulse, look)
        if sent is None and seen is not None and seen < look.head:
            yield _message("changed", {"position": look.head}, look.head)  # of which clusters, nobody knows any more
        elif sent is not None and pulse != sent:
            yield _message("changed", {"position": look.head, **_news(sent, pulse)}, look.head)
        elif sent is None:
            yield _message("here", {"position": look.head}, look.head)
        sent, seen = pulse, look.head


def _message(name: str, data: dict[str, object], position: int) -> str:
    return f"id: {position}\nevent: {name}\ndata: {json.dumps(data)}\n\n"


def _news(before: dict[ClusterUid, Pulse], now: dict[ClusterUid, Pulse]) -> dict[str, object]:
    """`clusters` that have changed, and those of which Kafka alone was `read` anew."""
    other = [uid for uid in before.keys() | now.keys() if before.get(uid) != now.get(uid)]
    read = {
        uid
        for uid in other
        if uid in before and uid in now and before[uid]._replace(read=0) == now[uid]._replace(read=0)
    }
    return {"clusters": sorted(uid for uid in other if uid not in read), "read": sorted(read)}


def _pulse(fleet: Fleet, view: ClusterView, pairs: PairsView) -> Pulse:
    said, snapshot, pair = fleet.said(view.uid), fleet.last_snapshot(view.uid), pairs.last_declared(view.uid)
    begun = Pulse(view.version, said.sentence if said else "", pair=pair.view.version if pair is not None else 0)
    if snapshot is None:
        return begun
    return begun._replace(ails=_ails(snapshot), read=int(snapshot.at.timestamp() // READS_COUNT_EVERY_S))


@once_a_reading
def _ails(snapshot: KafkaSnapshot) -> tuple[int, ...]:
    lists = (snapshot.under_replicated(), snapshot.leaderless(), snapshot.under_min_isr(), snapshot.moving())
    return (len(snapshot.live_brokers()), *(len(found) for found in lists))
