"""One log of the VM: what was written to it since the place that was sent last."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from pathlib import Path

from agent.journal.allowance import LineAllowance
from agent.journal.entries import LogEntry, split
from agent.journal.places import FilePlace, Piece, read_on

SETTLES_S = 1.0
"""A last entry that nothing was added to for so long is whole: a stack trace is written in one go."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """`left_out` entries were too many for their minute. `loss` says what may be missing before the first. `place` is
    behind all of it."""

    entries: Sequence[LogEntry]
    place: FilePlace
    left_out: int
    loss: str
    is_more: bool


class LogSource:
    """`gather` reads; it keeps nothing that cannot be read again but how many lines a minute has had."""

    def __init__(self, service: str, path: Path, *, lines_per_min: int, zone: tzinfo | None = None) -> None:
        self.service, self.path, self.lines_per_min = service, path, lines_per_min
        self._allowance = LineAllowance(lines_per_min)
        self._zone = zone
        self._seen: tuple[int, int] = (0, -1)
        self._since_s = 0.0

    def gather(self, place: FilePlace | None, *, most_bytes: int, now_s: float) -> Gathered | None:
        """None when there is nothing new. Raises OSError."""
        piece = read_on(self.path, place, most_bytes=most_bytes)
        if piece is None:
            return None
        is_all = piece.is_finished or len(piece.text) >= most_bytes or self._is_settled(piece, now_s)
        found = split(piece.text, begins=piece.place.offset, is_all=is_all, zone=self._zone)
        after = replace(piece.place, offset=piece.place.offset + found.taken)
        if not found.entries and after == place and not piece.loss:
            return None
        let = [e for e in found.entries if self._allowance.admits(e.at, urgent=e.is_urgent)]
        return Gathered(let, after, len(found.entries) - len(let), piece.loss, piece.is_more)

    def _is_settled(self, piece: Piece, now_s: float) -> bool:
        end = piece.place.inode, piece.place.offset + len(piece.text)
        if end != self._seen:
            self._seen, self._since_s = end, now_s
        return now_s - self._since_s >= SETTLES_S


def line_of(service: str, inode: int, entry: LogEntry, text: str) -> dict[str, object]:
    """What is told of an entry. `id` and the rest are the same whenever it is read: a repeat can be known."""
    return {
        "service": service,
        "id": f"{service}/{inode:x}/{entry.offset}",
        "at": time_text(entry.at),
        "level": entry.level,
        "error": entry.fault,
        "text": text,
    }


def time_text(at: datetime | None) -> str:
    """ISO 8601 in UTC to the millisecond; empty for none."""
    return "" if at is None else at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
