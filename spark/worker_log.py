"""What a worker and everything it starts write to their output, on its way into a file: through a filter, as Spark
logs what it was configured with and what failed, in its own words."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO

Redact = Callable[[str], str]

_READ_BYTES = 64 * 1024
_LONGEST_LINE_BYTES = 1024 * 1024


class WorkerLog:
    """Writes what comes out of a pipe to a file until everybody has closed the other end.

    The pipe is emptied whatever happens to the file: a worker that cannot write would stand still. What was written is
    cut at the ends of lines, so that the filter sees each whole, and a key of many lines that came at once.
    """

    def __init__(self, pipe: IO[bytes], file: Path, redact: Redact) -> None:
        self._pipe, self._file, self._redact = pipe, file, redact
        self._thread = threading.Thread(target=self._run, name="worker-log", daemon=True)
        self._thread.start()

    def close(self, timeout_s: float) -> None:
        """Waits until all of it is written, or so long."""
        self._thread.join(timeout_s)

    def _run(self) -> None:
        waiting = b""
        with self._pipe:
            while some := self._pipe.read1(_READ_BYTES):  # type: ignore[attr-defined]  # of a BufferedReader
                waiting += some
                whole = waiting.rfind(b"\n") + 1 or (len(waiting) if len(waiting) > _LONGEST_LINE_BYTES else 0)
                self._write(waiting[:whole])
                waiting = waiting[whole:]
        self._write(waiting)

    def _write(self, written: bytes) -> None:
        if not written:
            return
        try:
            with self._file.open("ab") as file:
                file.write(self._redact(written.decode("utf-8", "replace")).encode())
        except OSError:
            return  # a full disk costs lines, not the worker
