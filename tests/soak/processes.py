"""Calls of pytest beside each other: each in a session of its own, what it prints in a file; all of them can be ended.

A runner that is killed with -9 takes its calls with it, where there is `setpriv`: what they left would be beside the
run that goes on.
"""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Lock

from tests.behind import ENDED, give_way
from tests.own_network import in_own_network

DIES_WITH_US = ("setpriv", "--pdeathsig", "INT", "--")
"""Before `unshare` and `nice`: `exec` keeps it. As Ctrl-C, so that fixtures end what they started."""


class Processes:
    """Starts commands from any thread, until `end`."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._over = False

    @property
    def over(self) -> bool:
        return self._over

    def run(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        log: Path,
        *,
        network: bool = False,
        behind: bool = False,
    ) -> int:
        """Exit status; `ENDED` if it was not begun or ended by `end`. `network`: on one of its own, where that can be
        had. `behind`: gives way to everything else on the machine. `log` is added to."""
        words = in_own_network(command) if network else tuple(command)
        words = ("nice", "-n", "19", *words) if behind else words
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as file:
            with self._lock:
                if self._over:
                    return ENDED
                process = subprocess.Popen(
                    [*_dies_with_us(), *words],
                    env=dict(environment),
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
                self._running.add(process)
            if behind:
                give_way(process.pid)
            code = process.wait()
        with self._lock:
            self._running.discard(process)
        return ENDED if self._over else code

    def end(self) -> None:
        """Ends what runs as Ctrl-C does; what comes later is not begun."""
        with self._lock:
            self._over = True
            for process in self._running:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGINT)


@cache
def _dies_with_us() -> tuple[str, ...]:
    with suppress(OSError):
        if subprocess.run((*DIES_WITH_US, "true"), capture_output=True, check=False).returncode == 0:
            return DIES_WITH_US
    return ()
