"""Counts Kafka's own log lines by what they tell, minute by minute, without keeping any of them.

The classes are words of Kafka 3.9 to 4.3 (ReplicaFetcherThread, NetworkClient, UnifiedLog.truncateTo).
"""

import os
import re
from collections import Counter
from pathlib import Path

from agent.durable import open_plain

MINUTE_S = 60.0

_MOST_BYTES = 4 * 1024 * 1024
"""Read at a time: of a log that explodes the rest is passed over, and counted as `skipped_bytes`."""

_CLASSES = (
    ("errors", re.compile(rb"^\[[^\]]+\] (ERROR|FATAL) ", re.MULTILINE)),
    ("exceptions", re.compile(rb"^(?:Caused by: )?[a-zA-Z_][\w.$]*(?:Exception|Error)(?::|\s*$)", re.MULTILINE)),
    ("fetch_errors", re.compile(rb"^\[[^\]]+\] (?:ERROR|WARN) .*ReplicaFetcher", re.MULTILINE)),
    # The log's own word that it cuts: each new follower announces truncations that "have no effect".
    (
        "truncations",
        re.compile(rb"^\[[^\]]+\] \w+ \[UnifiedLog .*Truncat(?:ing to offset|e and start at)", re.MULTILINE),
    ),
)


class LogLines:
    """`look` at every pass; `per_minute` is the last whole minute, empty before there was one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._inode = 0
        self._offset = -1
        self._begun_s = float("-inf")
        self._counts: Counter[str] = Counter()
        self.per_minute: dict[str, int] = {}

    def look(self, now_s: float) -> None:
        """Counts what was written since the last look. What was there before the first one is history."""
        self._count()
        if self._begun_s == float("-inf"):
            self._begun_s = now_s
        elif now_s - self._begun_s >= MINUTE_S:
            counted = {name: self._counts[name] for name, _ in _CLASSES}
            self.per_minute = counted | ({"skipped_bytes": n} if (n := self._counts["skipped_bytes"]) else {})
            self._counts.clear()
            self._begun_s = now_s

    def _count(self) -> None:
        try:
            with open_plain(self._path) as log:
                about = os.fstat(log.fileno())
                if self._offset < 0:
                    self._offset = about.st_size
                elif about.st_ino != self._inode or about.st_size < self._offset:
                    self._offset = 0  # rolled: the new file begins
                self._inode = about.st_ino
                if about.st_size - self._offset > _MOST_BYTES:
                    self._counts["skipped_bytes"] += about.st_size - self._offset - _MOST_BYTES
                    self._offset = about.st_size - _MOST_BYTES
                log.seek(self._offset)
                text = log.read(_MOST_BYTES)
        except OSError:  # none yet, or it is no log
            self._offset = max(self._offset, 0)
            return
        whole = text[: text.rfind(b"\n") + 1]  # the rest of a line is read with its end, next time
        self._offset += len(whole)
        for name, pattern in _CLASSES:
            self._counts[name] += len(pattern.findall(whole))
