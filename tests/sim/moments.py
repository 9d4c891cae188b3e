"""One story with many ends: at a moment of it the process forks, and the child alone plays what happens from there.

What led up to the moment is played once, not once for each end. It works since all of a simulated world is in memory.
"""

import os
import signal
from collections.abc import Callable
from typing import NoReturn


def failure_of(goes_on: Callable[[], object]) -> str:
    """What it fails with in a process of its own, in one line; "" where it does not. Nothing of it is left here."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reads)
        _play(goes_on, writes)
    os.close(writes)
    try:
        with os.fdopen(reads, "rb") as told:
            said = told.read().decode()
        _, status = os.waitpid(child, 0)
    except BaseException:  # a timeout of the test, or a person: nobody else ends the child
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    return said or (f"its process ended with {status}" if status else "")


def _play(goes_on: Callable[[], object], tells: int) -> NoReturn:
    code = 0
    try:
        goes_on()
    except BaseException as error:  # noqa: BLE001 - whatever it is, the parent tells it
        code = 1
        os.write(tells, f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"[:4000].encode())
    finally:
        os._exit(code)  # no end of the test that was forked: its fixtures are the parent's
