"""The log for programs as server-sent events: what was recorded, each event with its position as the id.

A program that comes back with the last id it saw (`Last-Event-ID`) misses nothing and gets nothing twice. Each page is
filtered by rights as it is read, also on resume. Whoever waits holds no thread and no database connection: the tailer
of the live pages tells when the log has grown.
"""

import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass

from starlette.concurrency import run_in_threadpool

from controlplane.api.access.rights import Rights
from controlplane.api.read_models.event_tail import PING_EVERY_S, Look, Tailer
from controlplane.api.schemas.loop import LogOut
from events.errors import StoreUnavailable

EVENT_STREAM = "text/event-stream"
AT_ONCE = 200
"""Events that are read and sent before rights are looked at again."""

ReadLog = Callable[[int], LogOut]
"""What the caller may read after a position, as far as it was asked for, oldest first. Raises StoreUnavailable."""


@dataclass(slots=True)
class Watch:
    """Whoever holds an answer open, and whether they still may: looked at every few seconds."""

    rights: Rights
    recheck: Callable[[], Awaitable[Rights | None]]
    every_s: float
    _looked_at: float = 0.0

    def __post_init__(self) -> None:
        self._looked_at = time.monotonic()

    async def is_over(self) -> bool:
        """Whether the token is over or its rights are others by now: who comes back gets what they may see then."""
        if time.monotonic() - self._looked_at < self.every_s:
            return False
        self._looked_at = time.monotonic()
        has = await self.recheck()
        return has is None or not has.same_as(self.rights)


async def grown(tailer: Tailer, watch: Watch, after: int, wait_s: float) -> bool:
    """Waits until the log is longer than `after`; False when time is up, the server stops or the caller may no more."""
    until = time.monotonic() + wait_s
    async with aclosing(tailer.polls(watch.rights.subject)) as polls:
        async for look in polls:
            if look is not None and look.head > after:
                return True
            if time.monotonic() >= until or await watch.is_over():
                return False
    return False


async def event_messages(tailer: Tailer, watch: Watch, read: ReadLog, after: int | None) -> AsyncGenerator[str, None]:
    """The stream: from `after` on, or from now where that is None. Ends when the server stops or the rights change."""
    yield "retry: 1000\n\n"
    position, head, told_at = after, 0, time.monotonic()
    async with aclosing(tailer.polls(watch.rights.subject)) as polls:
        async for look in polls:
            if await watch.is_over():
                yield "event: over\ndata: {}\n\n"
                return
            head = _head(look, head)
            if position is None and look is not None:
                position = head
                yield f"id: {position}\n\n"
            while position is not None and position < head:
                try:
                    page = await run_in_threadpool(read, position)
                except StoreUnavailable:
                    break  # the next look, or sign of life, tries again from there
                for event in page.events:
                    told_at = time.monotonic()
                    yield f"id: {event.position}\nevent: recorded\ndata: {event.model_dump_json()}\n\n"
                position = max(position, page.looked_to)
                if page.is_all or await watch.is_over():
                    break
            if time.monotonic() - told_at >= PING_EVERY_S:
                told_at = time.monotonic()
                # With the position: what a filter passed over need not be looked through again.
                yield f": still here\nid: {position or 0}\n\n"


def _head(look: Look | None, known: int) -> int:
    return known if look is None else max(known, look.head)
