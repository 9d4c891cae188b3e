"""Processes that stand still for a while: their machine is well, and they answer nobody."""

import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress


@contextmanager
def standing_still(pids: Iterable[int]) -> Iterator[None]:
    """They go on at the end of the block, or before by `go_on`."""
    held = list(pids)
    assert held
    for pid in held:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        go_on(held)


def go_on(pids: Iterable[int]) -> None:
    """Whoever does so already is not disturbed; who was ended meanwhile needs nothing."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
