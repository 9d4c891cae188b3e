"""When sources are looked at: each at its own interval, by the leader alone, and at once when somebody rings."""

import logging
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Protocol

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.base import JobLookupError
from apscheduler.schedulers.background import BackgroundScheduler

from events.errors import EventsError

_log = logging.getLogger(__name__)

_MOST_THREADS = 32
_AT_A_TIME = 2
"""Of one source: one that looks, and one that waits for it because somebody rang meanwhile."""


class Leadership(Protocol):
    """Whether this server leads; `Candidate` is one."""

    @property
    def may_act(self) -> bool: ...


class Polled(Protocol):
    """A source; `SourceSync` is one."""

    def poll(self) -> None: ...


class Poller:
    """Polls sources on threads between `start` and `stop`. `intervals_s` by name of binding."""

    def __init__(
        self,
        sources: Mapping[str, Polled],
        intervals_s: Mapping[str, float],
        *,
        leadership: Leadership,
        stop: threading.Event,
    ) -> None:
        self._sources = sources
        self._intervals_s = intervals_s
        self._leadership = leadership
        self._stop = stop
        self._locks = {name: threading.Lock() for name in sources}
        threads = min(_MOST_THREADS, _AT_A_TIME * max(1, len(sources)))
        self._clock = BackgroundScheduler(timezone="UTC", executors={"default": ThreadPoolExecutor(threads)})

    def start(self) -> None:
        """Every source is looked at now, and then at its interval. Without sources nothing is started."""
        if not self._sources:
            return
        logging.getLogger("apscheduler").setLevel(logging.WARNING)
        for name in self._sources:
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
        """No poll begins after this returns, and none is under way: what git still did is ended."""
        self._stop.set()
        if self._clock.running:
            self._clock.shutdown(wait=True)

    def ring(self, name: str) -> bool:
        """Asks for a look soon, as a webhook would. False where there is no such source."""
        if name not in self._sources:
            return False
        if self._clock.running:
            try:
                self._clock.modify_job(name, next_run_time=datetime.now(UTC))
            except JobLookupError:
                return False
        return True

    def poll(self, name: str) -> None:
        """One look at one source, after the one under way; nothing where another server leads."""
        with self._locks[name]:
            if self._stop.is_set() or not self._leadership.may_act:
                return
            try:
                self._sources[name].poll()
            except EventsError as error:
                _log.warning("source git:%s: %s", name, error)
            except Exception:  # noqa: BLE001 - a poisoned source must not stop the others
                _log.exception("source git:%s: the poll failed; the others go on", name)
