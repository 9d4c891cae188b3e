"""All that a command takes from the world, in one value: tests give their own and nothing needs patching."""

import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx

from events.clock import Clock, utc_now


def _read_line() -> str:
    return sys.stdin.readline()


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Environment, time, network and terminals. `transport` None = real HTTP."""

    environ: Mapping[str, str]
    cwd: Path
    transport: httpx.BaseTransport | None = None
    utc_now: Clock = utc_now
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    read_line: Callable[[], str] = _read_line
    stdin_is_terminal: bool = False
    stdout_is_terminal: bool = False
    stderr_is_terminal: bool = False


def of_this_process() -> Surroundings:
    """The surroundings of the running process."""
    return Surroundings(
        environ=os.environ,
        cwd=Path.cwd(),
        stdin_is_terminal=sys.stdin is not None and sys.stdin.isatty(),
        stdout_is_terminal=sys.stdout is not None and sys.stdout.isatty(),
        stderr_is_terminal=sys.stderr is not None and sys.stderr.isatty(),
    )
