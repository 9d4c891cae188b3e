"""Python's garbage collector in Spark's tasks."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Nothing is searched for cycles while one cluster is planned.

    A plan makes dicts and lists by the ten thousand, all of which live until it is written. The collector walks them,
    and all that numba, scipy and pyarrow loaded, again and again and finds nothing: half of what such steps take. What
    does stand in cycles is freed after the task.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
