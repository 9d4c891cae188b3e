"""Waiting until something holds."""

import os
import time
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")
PATIENCE = "KEDGE_PATIENCE"
"""How many times as long as alone a test may take, where others run beside it (`tests.recorder.Selection`)."""


def patient(limit_s: float) -> float:
    """A limit that says only that nothing hangs, and nothing of how fast it has to be: longer beside others."""
    return limit_s * float(os.environ.get(PATIENCE) or 1)


def until(
    look: Callable[[], _T | None],
    what: str = "what was waited for",
    *,
    timeout_s: float = 30.0,
    every_s: float = 0.05,
    told: Callable[[], str] = str,
) -> _T:
    """What `look` finds, once that counts as true. Raises TimeoutError with `what`, and with what `told` says then."""
    deadline = time.monotonic() + timeout_s
    while not (found := look()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {timeout_s:.0f} s: {what}\n{told()}".rstrip())
        time.sleep(every_s)
    return found
