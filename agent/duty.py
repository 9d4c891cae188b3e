"""Keeps one thread at work for what is to be done now, none for anything else."""

import threading
from typing import Generic, Protocol, TypeVar

_AGAIN_S = 300.0
"""A thread that died by itself is started anew after this."""

Task = TypeVar("Task")
_Given = TypeVar("_Given", contravariant=True)


class DutyClock(Protocol):
    def monotonic_s(self) -> float: ...


class StartsTask(Protocol[_Given]):
    """Starts the thread of a task; it ends soon after `leaving` is set. `agent.metrics_start.start_shipping` is one."""

    def __call__(self, task: _Given, /, *, leaving: threading.Event) -> threading.Thread: ...


class Duty(Generic[Task]):
    """`follow` after every pass of the converger; it never waits."""

    def __init__(self, start: StartsTask[Task], clock: DutyClock) -> None:
        self._start = start
        self._clock = clock
        self._task: Task | None = None
        self._leaving = threading.Event()
        self._thread: threading.Thread | None = None
        self._begun_s = 0.0

    def follow(self, task: Task | None) -> None:
        """Works for `task` from now on, for nobody if it is None. The thread of another one is told to leave."""
        if task != self._task or self._is_overdue():
            self._leaving.set()
            self._task, self._leaving, self._thread = task, threading.Event(), None
            if task is not None:
                self._begun_s = self._clock.monotonic_s()
                self._thread = self._start(task, leaving=self._leaving)

    def _is_overdue(self) -> bool:
        died = self._thread is not None and not self._thread.is_alive()
        return died and self._clock.monotonic_s() - self._begun_s >= _AGAIN_S
