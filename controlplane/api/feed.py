"""Waiting for a cluster to change, without a thread or a database connection for each who waits.

One task looks at the folded views a few times a second for all of them, and at those only that somebody waits for.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from controlplane.api.services import Fleet
from controlplane.runtime.process_errors import TROUBLES
from events.ids import ClusterUid

LOOK_EVERY_S = 0.2
MAX_WAIT_S = 30.0
RECHECK_EVERY_S = 3.0
"""Between two looks at the rights of whoever holds an answer or a stream open: it ends within 5 s of those."""


@dataclass(slots=True, eq=False)
class _Waiter:
    seen_version: int
    news: asyncio.Event = field(default_factory=asyncio.Event)


class Feed:
    """For one event loop at a time. `close` and `ring` may be called from any thread."""

    def __init__(
        self, fleet: Fleet, *, look_every_s: float = LOOK_EVERY_S, also_close: Callable[[], None] = lambda: None
    ) -> None:
        self._also_close = also_close
        self._fleet = fleet
        self._look_every_s = look_every_s
        self._waiting: defaultdict[ClusterUid, set[_Waiter]] = defaultdict(set)
        self._looking: asyncio.Task[None] | None = None
        self._rung: set[str] = set()
        """Stays as small as the fleet where nobody waits, and so nobody looks. Each change of it is one step."""
        self._closing = False

    def ring(self, uid: str) -> None:
        """Has whoever waits for that cluster look again, though it is recorded as it was. For any thread."""
        self._rung.add(uid)

    async def wait(self, uid: ClusterUid, seen_version: int, timeout_s: float) -> bool:
        """Waits until the cluster's view is past `seen_version`, or it is rung for; False when time is up or the server
        stops."""
        if timeout_s <= 0 or self._closing:
            return False
        waiter = _Waiter(seen_version)
        self._waiting[uid].add(waiter)
        try:
            self._look_from_now_on()
            async with asyncio.timeout(min(timeout_s, MAX_WAIT_S)):
                await waiter.news.wait()
            return not self._closing
        except TimeoutError:
            return False
        finally:
            self._waiting[uid].discard(waiter)
            if not self._waiting[uid]:
                del self._waiting[uid]

    @property
    def is_closing(self) -> bool:
        """Whether the server stops: nobody is to wait any more."""
        return self._closing

    def close(self) -> None:
        """Sends everybody who waits away at the next look: the server stops."""
        self._closing = True
        self._also_close()

    def _look_from_now_on(self) -> None:
        loop = asyncio.get_running_loop()
        if self._looking is None or self._looking.done() or self._looking.get_loop() is not loop:
            self._looking = loop.create_task(self._look())

    async def _look(self) -> None:
        while self._waiting:
            with TROUBLES.turn("long polls"):  # whoever waits has nobody else who looks
                self._look_once()
            await asyncio.sleep(self._look_every_s)

    def _look_once(self) -> None:
        rung = set(self._rung)
        self._rung -= rung
        for uid, waiters in self._waiting.items():
            view = self._fleet.view(uid)
            version = view.version if view is not None else 0
            for waiter in waiters:
                if self._closing or uid in rung or version > waiter.seen_version:
                    waiter.news.set()
