"""How much memory a benchmark and all it starts hold at most."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psutil


def family() -> list[psutil.Process]:
    """This process and all below it."""
    own = psutil.Process()
    return [own, *own.children(recursive=True)]


@contextmanager
def peak_rss() -> Iterator[Callable[[], int]]:
    """The largest resident memory, in bytes, of this process and all it started, looked at four times a second.

    Shared pages (forked Python workers) count in each process: an upper bound.
    """
    peak, done = [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.25):
            peak[0] = max(peak[0], sum(map(_rss, family())))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield lambda: peak[0]
    finally:
        done.set()
        thread.join()


def _rss(process: psutil.Process) -> int:
    """0 for one that ended since it was listed."""
    try:
        return int(process.memory_info().rss)
    except psutil.NoSuchProcess:
        return 0
