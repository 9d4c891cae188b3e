"""What fails in this process beside requests and ticks: threads and tasks that repeat for as long as the server lives.

None of them may end by an error: a lease that is renewed no more, or a door that accepts no more, is a server that
lives and does nothing. What one turn of them raises is noted here, told, and the next turn comes.
"""

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime

from events.clock import Clock, utc_now
from events.errors import StoreUnavailable

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Trouble:
    """Of one task: how often it has failed since this process began, and the last failure. `since` is None once a turn
    went well again.
    """

    task: str
    count: int
    error: str
    at: datetime
    since: datetime | None


class Troubles:
    """Of one process. Thread-safe."""

    def __init__(self, clock: Clock = utc_now) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._troubles: dict[str, Trouble] = {}

    @contextmanager
    def turn(self, task: str) -> Iterator[None]:
        """One turn of a task: what it raises is noted and does not leave this block."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - whatever it was, the next turn has to come
            self.note(task, error)
        else:
            self.went_well(task)

    def note(self, task: str, error: Exception) -> None:
        """A turn failed. Logged when it is another error than the last one: with its traceback, but for a database that
        is away, which is no fault of this program."""
        sentence, now = f"{type(error).__name__}: {error}", self._clock()
        with self._lock:
            before = self._troubles.get(task)
            since = before.since if before is not None and before.since is not None else now
            self._troubles[task] = Trouble(task, before.count + 1 if before else 1, sentence, now, since)
        if before is None or before.since is None or before.error != sentence:
            traceback = None if isinstance(error, StoreUnavailable) else error
            _log.error("%s failed and goes on: %s", task, sentence, exc_info=traceback)

    def went_well(self, task: str) -> None:
        """A turn was done."""
        with self._lock:
            before = self._troubles.get(task)
            if before is None or before.since is None:
                return
            self._troubles[task] = replace(before, since=None)
        _log.info("%s goes well again", task)

    def all(self) -> Sequence[Trouble]:
        """Every task that has ever failed in this process, by its name."""
        with self._lock:
            return [self._troubles[task] for task in sorted(self._troubles)]


TROUBLES = Troubles()
"""Those of this process."""


def repeat(
    step: Callable[[], float], task: str, stop: threading.Event, *, troubles: Troubles = TROUBLES, pause_s: float = 1.0
) -> None:
    """Steps until told to stop: each returns the seconds until the next, one that fails has it after `pause_s`."""
    while not stop.is_set():
        wait_s = pause_s
        with troubles.turn(task):
            wait_s = step()
        stop.wait(wait_s)
