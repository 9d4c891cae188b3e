"""Reports of agents, kept in one transaction each half second: each in one of its own is a quarter of what it costs.

A report may be lost with the process, as it is an observation: the agent tells all of it again within seconds.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

from agent.wire import Report
from controlplane.cluster.observed.agent_reports import AGENT_REPORT, rows_of
from controlplane.runtime.process_errors import TROUBLES, Troubles
from controlplane.storage.latest_values import KeptObservation, LatestStore, LatestValue, Subject, supersede
from events.errors import StoreUnavailable
from events.ids import ClusterUid

_log = logging.getLogger(__name__)

KEPT_EVERY_S = 0.5
_REMEMBERED = timedelta(hours=1)
"""Of who is silent. The store knows for longer what is news."""
_TASK = "reports of agents"


class ReportBuffer:
    """`wake` rings for clusters whose reports are not to wait for the next tick, once these are kept.

    `every_s` 0: each is kept before it is answered. `put` is for one event loop at a time, `keep` for any thread.
    """

    def __init__(
        self,
        latest: LatestStore,
        wake: Callable[[str], None],
        *,
        every_s: float = KEPT_EVERY_S,
        troubles: Troubles = TROUBLES,
    ) -> None:
        self._latest, self._wake, self._every_s, self._troubles = latest, wake, every_s, troubles
        self._lock = threading.Lock()
        self._rows: dict[Subject, LatestValue] = {}
        self._to_wake: set[ClusterUid] = set()
        self._heard: dict[Subject, KeptObservation] = {}
        """The last report of each instance here, without what it tells."""
        self._forgotten_at = datetime.min.replace(tzinfo=UTC)
        self._keeping: asyncio.Task[None] | None = None
        self.is_failing = False
        """The last time nothing could be kept: who reports is to be told, and to come again."""

    def put(self, uid: ClusterUid, key: str, report: Report, at: datetime, *, wakes: bool) -> bool:
        """Takes it, to be kept soon. Whether it was news as far as is known here: the store decides when it is kept.

        Raises StoreUnavailable where it is kept at once.
        """
        told = LatestValue(Subject(AGENT_REPORT, uid, key), {}, "agent", at, report.boot_id, report.seq)
        with self._lock:
            newer = supersede(self._heard.get(told.subject), told)
            if newer is None:
                return False
            self._heard[told.subject] = newer
        rows = rows_of(uid, key, report, at)
        with self._lock:
            self._rows.update({row.subject: row for row in rows})
            if wakes:
                self._to_wake.add(uid)
        if self._every_s:
            self._keep_from_now_on()
        else:
            self.keep()
        return True

    def keep(self) -> None:
        """Keeps what has come. Raises StoreUnavailable: then it is tried again with what comes next."""
        with self._lock:
            rows, self._rows = self._rows, {}
            to_wake, self._to_wake = self._to_wake, set()
        try:
            self._put_all(list(rows.values()))
        except StoreUnavailable:
            with self._lock:
                self._rows = {**rows, **self._rows}
                self._to_wake |= to_wake
                self.is_failing = True
            raise
        self.is_failing = False
        self._forget_the_silent(rows.values())
        for uid in to_wake:
            self._wake(uid)

    def _forget_the_silent(self, kept: Iterable[LatestValue]) -> None:
        now = max((row.observed_at for row in kept), default=self._forgotten_at)
        if now - self._forgotten_at < _REMEMBERED:
            return
        with self._lock:
            self._heard = {s: one for s, one in self._heard.items() if now - one.observation.observed_at < _REMEMBERED}
            self._forgotten_at = now

    def _put_all(self, rows: list[LatestValue]) -> None:
        try:
            self._latest.put_all(rows)
        except StoreUnavailable:
            raise
        except Exception:  # noqa: BLE001 - a report that no database takes must not keep out those of all others
            for row in rows:
                self._put_alone(row)

    def _put_alone(self, row: LatestValue) -> None:
        try:
            self._latest.put(row)
        except StoreUnavailable:
            raise
        except Exception:  # noqa: BLE001 - as above
            _log.exception("the report of %s of cluster %s is not kept", row.subject.name, row.subject.cluster_uid)

    def _keep_from_now_on(self) -> None:
        loop = asyncio.get_running_loop()
        if self._keeping is None or self._keeping.done() or self._keeping.get_loop() is not loop:
            self._keeping = loop.create_task(self._keep_while_any())

    async def _keep_while_any(self) -> None:
        while self._rows:
            await asyncio.sleep(self._every_s)
            was_failing = self.is_failing
            with self._troubles.turn(_TASK):
                try:
                    await asyncio.to_thread(self.keep)
                except StoreUnavailable as away:  # told to whoever reports, and on the page of the loop
                    if not was_failing:
                        _log.warning("reports of agents wait to be kept: %s", away)
