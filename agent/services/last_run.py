"""What the last process of a service wrote: to its log, which all of its starts share, and to its output.

Where the agent itself was started anew meanwhile, nobody knows where in the log that run began: then it is the part
after the line that Kafka, ZooKeeper or MirrorMaker begins each of its logs with.
"""

import os
import re
from pathlib import Path

from agent.durable import open_plain

_MOST_BYTES = 256 * 1024
"""Of the end of a log: a process that ends says so in its last lines, and one that was refused has no others."""

_BEGINS = (b"kafka:type=kafka.Log4jController", b"Reading configuration from:", b"Kafka MirrorMaker initializing")
"""In the first line of a start: of Kafka (3.8 to 4.3), of ZooKeeper (QuorumPeerConfig), and of MirrorMaker."""

_LEVEL = re.compile(r"\[[^\]]*\] ([A-Z]+) ")
"""Of an entry of log4j, as the agent has it write; what follows without one belongs to it."""


class LastRun:
    """`begins` just before a start; `written` once its process is gone."""

    def __init__(self, *, log: Path, output: Path) -> None:
        self._log = log
        self._output = output
        self._began: tuple[int, int] | None = None
        """Inode and size of the log when the run began; None where this agent did not start it."""

    def begins(self) -> None:
        try:
            about = self._log.stat()
        except FileNotFoundError:
            self._began = (0, 0)
        else:
            self._began = (about.st_ino, about.st_size)

    def written(self) -> str:
        """The log first: Java itself writes to the output alone, and only where Kafka wrote nothing. "" where neither
        can be read."""
        return f"{_text(self._log_of_run())}\n{_text(_end_of(self._output, 0))}"

    def troubles(self) -> str:
        """The same, and of the log what it tells as an error alone: one that was killed says nothing."""
        lines, is_error = [], False
        for line in _text(self._log_of_run()).splitlines():
            if level := _LEVEL.match(line):
                is_error = level[1] in ("ERROR", "FATAL")
            if is_error:
                lines.append(line)
        return "\n".join([*lines, _text(_end_of(self._output, 0))])

    def _log_of_run(self) -> bytes:
        try:
            about = self._log.stat()
        except OSError:
            return b""
        if self._began is not None:
            inode, size = self._began
            # A log that was rolled meanwhile has none of the lines before.
            return _end_of(self._log, size if about.st_ino == inode else 0)
        end = _end_of(self._log, 0)
        begun = max(end.rfind(words) for words in _BEGINS)
        return end[end.rfind(b"\n", 0, begun) + 1 :] if begun >= 0 else end


def _end_of(path: Path, offset: int) -> bytes:
    """What was written after that many bytes, the end of it where that is long."""
    try:
        with open_plain(path) as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(offset, size - _MOST_BYTES) if offset <= size else 0)
            return file.read(_MOST_BYTES)
    except OSError:
        return b""


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
