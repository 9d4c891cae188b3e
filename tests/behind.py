"""Commands that give way to everything else on the machine: what they print comes in one piece, once they are over."""

import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

ENDED = 130
"""What a command is over with that was ended, or not begun, because the run is."""


class Behind:
    """Runs commands one after the other, as `tests.tries.run` does. `end`, from another thread: that is all."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._now: subprocess.Popen[str] | None = None
        self._over = False
        self._stage = ""

    def begins(self, stage: str) -> str:
        """Its commands come next. Returns what to tell of it."""
        self._stage = stage
        return " (behind the next: what it says comes when it is over)"

    def __call__(self, command: Sequence[str], environment: Mapping[str, str]) -> int:
        with tempfile.TemporaryFile("w+") as words:
            with self._lock:
                if self._over:
                    return ENDED
                # A session of its own: its share of the processors is that of the session, whatever `nice` says in it.
                self._now = process = subprocess.Popen(
                    ["nice", "-n", "19", *command],
                    env=dict(environment),
                    stdin=subprocess.DEVNULL,
                    stdout=words,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    text=True,
                )
            give_way(process.pid)
            code = process.wait()
            words.seek(0)
            print(f"\n== what {self._stage} said\n{words.read()}", flush=True)
        return ENDED if self._over else code

    @property
    def over(self) -> bool:
        return self._over

    def end(self) -> None:
        """Ends what runs, with its processes; what comes later is not begun."""
        with self._lock:
            self._over = True
            if self._now is not None and self._now.poll() is None:
                os.killpg(self._now.pid, signal.SIGTERM)


def give_way(process: int) -> None:
    """Where the kernel shares processors by sessions (`sched_autogroup_enabled`), the whole session gives way."""
    with suppress(OSError):  # No such sharing here, or the process is over: `nice` is all there is, and enough.
        Path(f"/proc/{process}/autogroup").write_text("19")
