"""Reading a log on from where one was, across its rotation: the file is known by its inode and how it begins.

Facts: log4j renames `broker.log` to the highest free number and, when all are taken, shifts the others down; Python's
handler shifts them up; `agent.process.spawn` keeps one old output. So age is told by the time of the last write alone.
"""

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from agent.durable import open_plain

_BEGINS_BYTES = 64
FIRST_BYTES = 1024 * 1024
"""A log that was never read before is begun at most so far before its end."""


@dataclass(frozen=True, slots=True)
class FilePlace:
    """`begins`: the first bytes of the file (hex), since inodes are used again."""

    inode: int
    offset: int
    begins: str = ""


@dataclass(frozen=True, slots=True)
class Piece:
    """What follows a place: whole lines, unless one is longer than what was asked for.

    `place` is where `text` begins. `is_finished`: nothing will ever be written behind it. `is_more`: there is something
    to read behind it already. `loss` says what may be missing before it.
    """

    place: FilePlace
    text: bytes
    is_finished: bool
    is_more: bool
    loss: str = ""


@dataclass(frozen=True, slots=True)
class _OpenFile:
    file: IO[bytes]
    inode: int
    size: int
    is_current: bool

    def begins(self) -> bytes:
        return os.pread(self.file.fileno(), _BEGINS_BYTES, 0)

    def place(self, offset: int) -> FilePlace:
        return FilePlace(self.inode, offset, self.begins().hex())

    def holds(self, place: FilePlace) -> bool:
        begins = bytes.fromhex(place.begins)
        return self.inode == place.inode and self.size >= place.offset and self.begins()[: len(begins)] == begins


def place_at_end(path: Path) -> FilePlace | None:
    """Behind all that is in the log now; None when there is no log yet. Raises OSError when it cannot be read."""
    try:
        with open_plain(path) as file:
            about = os.fstat(file.fileno())
            return _OpenFile(file, about.st_ino, about.st_size, is_current=True).place(about.st_size)
    except FileNotFoundError:
        return None


def read_on(path: Path, place: FilePlace | None, *, most_bytes: int) -> Piece | None:
    """What is behind `place` in the log at `path` and its rolled files; None when there is no log yet.

    Raises OSError when it cannot be read.
    """
    for is_last_try in (False, True):
        with _opened(path) as files:
            if not files:
                return None
            found = _found(files, place, is_last_try=is_last_try)
            if found is not None:
                return _piece(files, *found, most_bytes=most_bytes)
    raise AssertionError("the last try always finds a place")


def _found(files: Sequence[_OpenFile], place: FilePlace | None, *, is_last_try: bool) -> tuple[int, int, str] | None:
    """Index of the file, offset in it, and what is lost. None: look again, it may have been rolled meanwhile."""
    if place is None:
        return _first(files)
    for index, file in enumerate(files):
        if file.holds(place):
            return index, place.offset, ""
    if not is_last_try:
        return None
    cut = next((i for i, file in enumerate(files) if file.is_current and file.inode == place.inode), None)
    if cut is not None:
        return cut, 0, "the file was cut short: lines may be missing here"
    return 0, 0, "the file was rolled away before its end was seen: lines may be missing here"


def _first(files: Sequence[_OpenFile]) -> tuple[int, int, str]:
    """Somewhere in the newest file, at the beginning of a line."""
    file = files[-1]
    if file.size <= FIRST_BYTES:
        return len(files) - 1, 0, ""
    offset = file.size - FIRST_BYTES
    line_end = os.pread(file.file.fileno(), FIRST_BYTES, offset).find(b"\n")
    return len(files) - 1, offset + line_end + 1, ""


def _piece(files: Sequence[_OpenFile], index: int, offset: int, loss: str, *, most_bytes: int) -> Piece:
    while True:
        file = files[index]
        text = os.pread(file.file.fileno(), most_bytes, offset)
        is_finished = not file.is_current and offset + len(text) >= file.size
        if text or file.is_current or index + 1 == len(files):
            break
        index, offset = index + 1, 0  # that one is read to its end
    if not is_finished:
        whole = text[: text.rfind(b"\n") + 1]  # a torn line is read with its end, next time
        text = whole or (text if len(text) >= most_bytes else b"")
    is_more = bool(text) and (index + 1 < len(files) or offset + len(text) < file.size)
    return Piece(file.place(offset), text, is_finished, is_more, loss)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[list[_OpenFile]]:
    """The log's files, oldest first, `path` itself last; one that is renamed meanwhile is there once."""
    with contextlib.ExitStack() as closing:
        found: dict[int, tuple[int, _OpenFile]] = {}
        rolled = [p for p in path.parent.glob(f"{path.name}.*") if p.name[len(path.name) + 1 :].isdecimal()]
        for candidate in (*rolled, path):
            try:
                file = closing.enter_context(open_plain(candidate))
            except FileNotFoundError:
                continue
            about = os.fstat(file.fileno())
            found[about.st_ino] = about.st_mtime_ns, _OpenFile(file, about.st_ino, about.st_size, candidate == path)
        yield [file for _, file in sorted(found.values(), key=lambda f: (f[1].is_current, f[0]))]
