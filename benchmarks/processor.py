"""How much processor time a benchmark and all it starts take."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psutil

from benchmarks.memory import family


@contextmanager
def processor_seconds() -> Iterator[Callable[[], float]]:
    """Processor seconds, user and system, of this process and all it starts, from here to where it is asked.

    Looked at four times a second: nobody waits for a Python worker that Spark ends when it has been idle for a minute
    (its daemon ignores SIGCHLD), so its last figure has to be remembered here.
    """
    taken: dict[tuple[int, float], float] = {}
    done = threading.Event()

    def look() -> float:
        for process in family():
            try:
                times = process.cpu_times()
                taken[process.pid, process.create_time()] = times.user + times.system
            except psutil.NoSuchProcess:
                continue
        return sum(taken.values())

    def watch() -> None:
        while not done.wait(0.25):
            look()

    before = look()
    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield lambda: look() - before
    finally:
        done.set()
        thread.join()
