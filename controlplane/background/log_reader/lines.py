"""Lines as agents tell them, and which of them are wanted. Pure."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

LEVELS = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")


@dataclass(frozen=True, slots=True)
class LogLine:
    """One entry of a log. `at` is the log's own time, or Kafka's where it has none; `error` is the class of the first
    exception it names. `left_out`: so many lines are missing here."""

    node: str
    generation: int
    service: str
    at: datetime
    level: str
    error: str
    text: str
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class LogQuery:
    """Empty is all. `level` and those above it; a line without a level is as urgent as INFO. `since` is the log's time:
    lines that waited through a split come late and are of then."""

    since: datetime
    node: str = ""
    service: str = ""
    level: str = ""

    def takes(self, line: LogLine) -> bool:
        if (self.node and line.node != self.node) or (self.service and line.service != self.service):
            return False
        return line.at >= self.since and _rank(line.level) >= (_rank(self.level) if self.level else 0)


def lines_in(payload: bytes, *, appended_at: datetime, seen: set[bytes]) -> Iterator[LogLine]:
    """The lines of a record. `seen` leaves out repeats: an agent that restarted tells some lines again, to the byte.

    What is no line of ours is passed over.
    """
    for raw in payload.split(b"\n"):
        if raw in seen:
            continue
        seen.add(raw)
        line = _line(raw, appended_at)
        if line is not None:
            yield line


def in_time(lines: Iterable[LogLine]) -> list[LogLine]:
    """By the logs' own time; those of one time stay as they came."""
    return sorted(lines, key=lambda line: line.at)


def _line(raw: bytes, appended_at: datetime) -> LogLine | None:
    try:
        document = json.loads(raw)
        at = datetime.fromisoformat(document["at"]) if document["at"] else appended_at
        return LogLine(
            node=str(document["node"]),
            generation=int(document["generation"]),
            service=str(document["service"]),
            at=at,
            level=str(document["level"]),
            error=str(document["error"]),
            text=str(document["text"]),
            left_out=int(document.get("left_out", 0)),
        )
    except (ValueError, KeyError, TypeError):
        return None


def _rank(level: str) -> int:
    return LEVELS.index(level) if level in LEVELS else LEVELS.index("INFO")
