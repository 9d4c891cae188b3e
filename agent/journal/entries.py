"""From the bytes of a log to its entries: a line that begins with a time, and what follows it up to the next. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

MOST_TEXT_BYTES = 32 * 1024
"""Of one entry; of a longer one the beginning is kept, and how much was cut is said."""

_HEAD = re.compile(
    rb"^\[?(?P<at>\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[.,]\d{3})\]? "
    rb"(?P<level>TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL|CRITICAL) ",
    re.MULTILINE,
)
"""Kafka's and ZooKeeper's lines as `agent.services.properties` has them written, and the agent's own."""

_LEVELS = {"WARNING": "WARN", "CRITICAL": "FATAL"}
URGENT = frozenset({"WARN", "ERROR", "FATAL"})
_FAULT = re.compile(r"(?:^|[\s(:])((?:[a-zA-Z_][\w$]*\.)*[A-Z_][\w$]*(?:Exception|Error))(?=[:\s),]|$)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class LogEntry:
    """`offset`: of its first byte in the file. `at` is None, and `level` empty, where the log does not say; `fault` is
    the class of the first exception it names, or empty."""

    offset: int
    at: datetime | None
    level: str
    fault: str
    text: str

    @property
    def is_urgent(self) -> bool:
        return self.level in URGENT


@dataclass(frozen=True, slots=True)
class Split:
    """`taken`: bytes of the text the entries are made of; the rest has to be read again with what follows it."""

    entries: Sequence[LogEntry]
    taken: int


def split(text: bytes, *, begins: int, is_all: bool, zone: tzinfo | None = None) -> Split:
    """The entries of `text`, which begins at offset `begins` of its file and at the beginning of a line.

    Unless it `is_all` there is, the last entry may have more lines to come: it is left. Times without a zone are of
    `zone`, the machine's own by default.
    """
    heads = [*_HEAD.finditer(text)]
    ends = [*(head.start() for head in heads[1:]), len(text)] if heads else []
    entries = []
    first = heads[0].start() if heads else len(text)
    if first and (heads or is_all):
        entries.append(_entry(text[:first], begins, None, zone))
    for head, end in zip(heads, ends, strict=True):
        if end < len(text) or is_all:
            entries.append(_entry(text[head.start() : end], begins + head.start(), head, zone))
    if is_all:
        return Split(entries, len(text))
    return Split(entries, heads[-1].start() if heads else 0)


def _entry(raw: bytes, offset: int, head: re.Match[bytes] | None, zone: tzinfo | None) -> LogEntry:
    text = raw[:MOST_TEXT_BYTES].decode(errors="replace").rstrip("\r\n")
    if len(raw) > MOST_TEXT_BYTES:
        text += f"... ({len(raw) - MOST_TEXT_BYTES} bytes more)"
    found = _FAULT.search(text)
    fault = found[1] if found else ""
    if head is None:
        return LogEntry(offset, None, "", fault, text)
    level = head["level"].decode()
    return LogEntry(offset, _time(head["at"].decode(), zone), _LEVELS.get(level, level), fault, text)


def _time(text: str, zone: tzinfo | None) -> datetime | None:
    try:
        at = datetime.fromisoformat(text.replace(",", "."))
    except ValueError:
        return None  # the 31st of February: it is no time, and the line is none the worse
    return (at.replace(tzinfo=zone) if zone else at).astimezone(UTC)
