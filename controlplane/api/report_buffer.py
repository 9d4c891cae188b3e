"""Reports of agents, kept in one transaction each half second: each in one of its own is a quarter of what it costs.

A report may be lost with the process, as it is an observation: the agent tells all of it again within seconds.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from agent.wire import Report, UnchangedReport
from controlplane.cluster.observed.agent_reports import AGENT_REPORT, mark_of, rows_of, wrong_in
from controlplane.cluster.observed.report_pace import AT_WORK, ReportPace
from controlplane.runtime.process_errors import TROUBLES, Troubles
from controlplane.storage.latest_values import KeptObservation, LatestStore, LatestValue, Renewal, Subject, supersede
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
        self._renewals: dict[Subject, Renewal] = {}
        self._to_wake: set[ClusterUid] = set()
        self._heard: dict[Subject, KeptObservation] = {}
        """The last report of each instance here, without what it tells."""
        self._forgotten_at = datetime.min.replace(tzinfo=UTC)
        self._keeping: asyncio.Task[None] | None = None
        self.is_failing = False
        """The last time nothing could be kept: who reports is to be told, and to come again."""

    def put(
        self, uid: ClusterUid, key: str, report: Report, at: datetime, *, wakes: bool, pace: ReportPace = AT_WORK
    ) -> bool:
        """Takes it, to be kept soon. Whether it was news as far as is known here: the store decides when it is kept.

        Raises StoreUnavailable where it is kept at once.
        """
        remembered = {"digest": report.digest, "every_s": pace.every_s, "wrong": wrong_in(report)}
        told = LatestValue(Subject(AGENT_REPORT, uid, key), remembered, "agent", at, report.boot_id, report.seq)
        with self._lock:
            newer = supersede(self._heard.get(told.subject), told)
            if newer is None:
                return False
            self._heard[told.subject] = newer
        rows = rows_of(uid, key, report, at, pace)
        with self._lock:
            self._rows.update({row.subject: row for row in rows})
            self._renewals.pop(told.subject, None)
            if wakes:
                self._to_wake.add(uid)
        self._keep_soon()
        return True

    def renew(self, uid: ClusterUid, key: str, unchanged: UnchangedReport, at: datetime, pace: ReportPace) -> bool:
        """Takes that an agent says what it said before; False where that is not known here, or was told at another
        pace: then it has to come whole. Raises StoreUnavailable as `put`.
        """
        subject = Subject(AGENT_REPORT, uid, key)
        with self._lock:
            kept = self._heard.get(subject)
            before = kept.observation if kept is not None else None
            if before is None or (before.value["digest"], before.boot_id) != (unchanged.digest, unchanged.boot_id):
                return False
            told = replace(before, observed_at=at, seq=unchanged.seq)
            newer = supersede(kept, told)
            if newer is None or before.value["every_s"] != pace.every_s:
                return False
            self._heard[subject] = newer
            if subject in self._rows:
                self._rows[subject] = replace(self._rows[subject], observed_at=at, seq=unchanged.seq)
            else:
                self._renewals[subject] = Renewal(subject, at, unchanged.boot_id, unchanged.seq, unchanged.digest)
            if count := before.value["wrong"]:
                mark = mark_of(uid, key, count, at)
                self._rows[mark.subject] = mark
        self._keep_soon()
        return True

    def keep(self) -> None:
        """Keeps what has come. Raises StoreUnavailable: then it is tried again with what comes next."""
        with self._lock:
            rows, self._rows = self._rows, {}
            renewals, self._renewals = self._renewals, {}
            to_wake, self._to_wake = self._to_wake, set()
        try:
            if rows:
                self._put_all(list(rows.values()))
            if renewals:
                self._renew_all(renewals)
        except StoreUnavailable:
            with self._lock:
                self._rows = {**rows, **self._rows}
                self._renewals = {**renewals, **self._renewals}
                self._to_wake |= to_wake
                self.is_failing = True
            raise
        self.is_failing = False
        self._forget_the_silent(
            [*(row.observed_at for row in rows.values()), *(one.observed_at for one in renewals.values())]
        )
        for uid in to_wake:
            self._wake(uid)

    def _renew_all(self, renewals: Mapping[Subject, Renewal]) -> None:
        """Where another process took in more of one of them, or lost what it took in, all are asked for whole reports;
        so is who sends what no database takes, and keeps out nobody else."""
        try:
            is_all = self._latest.renew_all(list(renewals.values())) == len(renewals)
        except StoreUnavailable:
            raise
        except Exception:  # noqa: BLE001 - as in `_put_all`
            if len(renewals) > 1:
                for subject, one in renewals.items():
                    self._renew_all({subject: one})
                return
            _log.exception("that the report of %s stands is not kept", *renewals)
            is_all = False
        if not is_all:
            with self._lock:
                for subject in renewals:
                    self._heard.pop(subject, None)

    def _forget_the_silent(self, heard_at: Iterable[datetime]) -> None:
        now = max(heard_at, default=self._forgotten_at)
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

    def _keep_soon(self) -> None:
        if self._every_s:
            self._keep_from_now_on()
        else:
            self.keep()

    def _keep_from_now_on(self) -> None:
        loop = asyncio.get_running_loop()
        if self._keeping is None or self._keeping.done() or self._keeping.get_loop() is not loop:
            self._keeping = loop.create_task(self._keep_while_any())

    async def _keep_while_any(self) -> None:
        while self._rows or self._renewals:
            await asyncio.sleep(self._every_s)
            was_failing = self.is_failing
            with self._troubles.turn(_TASK):
                try:
                    await asyncio.to_thread(self.keep)
                except StoreUnavailable as away:  # told to whoever reports, and on the page of the loop
                    if not was_failing:
                        _log.warning("reports of agents wait to be kept: %s", away)
