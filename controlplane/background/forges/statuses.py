"""Keeps what a forge says of the newest commit true. Beside the polls: a forge that is down delays nothing.

Level-triggered: what is to be said is compared with what was said last, and after a start or a fault with what the
forge itself shows. So a status is posted once, whichever server leads.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from controlplane.background.forges.commit_report import CommitReport, verdict_of
from controlplane.background.forges.forge import Forge, ForgeFault
from controlplane.background.git_sync.status import SourceStatus
from events.clock import Clock

FIRST_WAIT_S, LONGEST_WAIT_S = 15.0, 900.0
RECHECK_S = 1800.0
"""How long it is taken for granted that the forge still shows what was said: another server may have led meanwhile."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ForgeStatus:
    """How one forge does: what it was told last, and what went wrong since."""

    where: str
    commit: str = ""
    state: str = ""
    at: datetime | None = None
    reason: str = ""
    fault: str = ""
    next_at: datetime | None = None


class StatusReconciler:
    """Of one binding. `poll` looks at the statuses of sources; it calls the forge only where one is new."""

    def __init__(self, forge: Forge, status: Callable[[], SourceStatus | None], *, portal: str, clock: Clock) -> None:
        self._forge, self._source_status, self._portal, self._clock = forge, status, portal, clock
        self._lock = threading.Lock()
        self._said: CommitReport | None = None
        self._attempts = 0
        self._status = ForgeStatus(forge.where)

    def poll(self) -> None:
        """Says it where it is not said yet. What the forge does is never raised: it is told by `told`."""
        status = self._source_status()
        wanted = None if status is None else self._verdict(status)
        if wanted is None or self._is_said(wanted) or self._is_early():
            return
        try:
            self._say(wanted)
        except ForgeFault as fault:
            self._failed(fault)
            return
        self._said, self._attempts = wanted, 0
        with self._lock:
            self._status = ForgeStatus(self._forge.where, wanted.commit, wanted.status.state, self._clock())

    def status(self) -> ForgeStatus:
        """As of now. Safe for many threads."""
        with self._lock:
            return self._status

    def _verdict(self, status: SourceStatus) -> CommitReport | None:
        return verdict_of(status, portal=self._portal, longest=self._forge.longest_description)

    def _say(self, wanted: CommitReport) -> None:
        shown = self._forge.status(wanted.commit, wanted.status.context)
        if shown is None or (shown.state, shown.description) != (wanted.status.state, wanted.status.description):
            self._forge.post_status(wanted.commit, wanted.status)
        if wanted.comment and not any(wanted.mark in text for text in self._forge.comments(wanted.commit)):
            self._forge.comment(wanted.commit, wanted.comment)

    def _is_said(self, wanted: CommitReport) -> bool:
        at = self._status.at
        return wanted == self._said and at is not None and self._clock() - at < timedelta(seconds=RECHECK_S)

    def _is_early(self) -> bool:
        next_at = self._status.next_at
        return next_at is not None and self._clock() < next_at

    def _failed(self, fault: ForgeFault) -> None:
        """Waits twice as long each time, and as long as the forge asked for."""
        doubled = FIRST_WAIT_S * 2 ** min(self._attempts, 10)
        self._attempts += 1
        wait = timedelta(seconds=max(fault.wait_s, min(doubled, LONGEST_WAIT_S)))
        _log.warning("%s: %s", fault.reason, fault)
        with self._lock:
            before = self._status
            self._status = ForgeStatus(
                before.where, before.commit, before.state, before.at, fault.reason, str(fault), self._clock() + wait
            )
