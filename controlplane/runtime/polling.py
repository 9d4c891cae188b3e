"""When things outside the tick are looked at: each at its own interval, by the leader alone, at once when rung for."""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Protocol

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.base import JobLookupError
from apscheduler.schedulers.background import BackgroundScheduler

from events.errors import EventsError

_log = logging.getLogger(__name__)

_MOST_THREADS = 32
_AT_A_TIME = 2
"""Of one thing: one look, and one that waits for it because somebody rang meanwhile."""


class Leadership(Protocol):
    """Whether this server leads; `Candidate` is one."""

    @property
    def may_act(self) -> bool: ...


class Polled(Protocol):
    """What is looked at: `SourceSync` and `NameReconciler` are."""

    def poll(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Looked:
    """One thing that is looked at: the last look of this server, None before the first, and when the next is due. A
    look that went well may have a `note` of what it saw.
    """

    name: str
    every_s: float
    at: datetime | None = None
    seconds: float = 0.0
    problem: str = ""
    next_at: datetime | None = None
    note: str = ""


class Poller:
    """Polls things on threads between `start` and `stop`. `intervals_s` by their names; `notes`, for some of them, what
    their last look saw.
    """

    def __init__(
        self,
        polled: Mapping[str, Polled],
        intervals_s: Mapping[str, float],
        *,
        leadership: Leadership,
        stop: threading.Event,
        notes: Mapping[str, Callable[[], str]] | None = None,
    ) -> None:
        self._polled = polled
        self._notes = notes or {}
        self._intervals_s = intervals_s
        self._leadership = leadership
        self._stop = stop
        self._looked: dict[str, Looked] = {}
        self._locks = {name: threading.Lock() for name in polled}
        threads = min(_MOST_THREADS, _AT_A_TIME * max(1, len(polled)))
        self._clock = BackgroundScheduler(timezone="UTC", executors={"default": ThreadPoolExecutor(threads)})

    def start(self) -> None:
        """Everything is looked at now, and then at its interval. Where there is nothing, nothing is started."""
        if not self._polled:
            return
        logging.getLogger("apscheduler").setLevel(logging.WARNING)
        # It warns of each beat that finds the look before under way, which `last_polls` tells once.
        logging.getLogger("apscheduler.scheduler").setLevel(logging.ERROR)
        for name in self._polled:
            self._clock.add_job(
                self.poll,
                "interval",
                args=[name],
                id=name,
                seconds=self._intervals_s[name],
                next_run_time=datetime.now(UTC),
                max_instances=_AT_A_TIME,
                coalesce=True,
                misfire_grace_time=None,
            )
        self._clock.start()

    def stop(self) -> None:
        """No look begins after this returns, and none is under way: what git still did is ended."""
        self._stop.set()
        if self._clock.running:
            self._clock.shutdown(wait=True)

    def ring(self, name: str) -> bool:
        """Asks for a look soon, as a webhook would. False where nothing has that name."""
        if name not in self._polled:
            return False
        if self._clock.running:
            try:
                self._clock.modify_job(name, next_run_time=datetime.now(UTC))
            except JobLookupError:
                return False
        return True

    def last_polls(self) -> Sequence[Looked]:
        """The last look at each thing, in the order they were named."""
        return [self._look_at(name) for name in self._polled]

    def poll(self, name: str) -> None:
        """One look at one thing, after the one under way; nothing where another server leads."""
        with self._locks[name]:
            if self._stop.is_set() or not self._leadership.may_act:
                return
            at, began_s, problem, note = datetime.now(UTC), time.monotonic(), "", ""
            try:
                self._polled[name].poll()
                note = self._notes[name]() if name in self._notes else ""
            except EventsError as error:
                problem = str(error)
                _log.warning("%s: %s", name, error)
            except Exception as error:  # noqa: BLE001 - one that is poisoned must not stop the others
                problem = f"{type(error).__name__}: {error}"
                _log.exception("%s: the look failed; the others go on", name)
            took_s = time.monotonic() - began_s
            self._looked[name] = Looked(name, self._intervals_s[name], at, took_s, problem, note=note)

    def _look_at(self, name: str) -> Looked:
        looked = self._looked.get(name) or Looked(name, self._intervals_s[name])
        job = self._clock.get_job(name) if self._clock.running else None
        return replace(looked, next_at=job.next_run_time) if job is not None else looked
