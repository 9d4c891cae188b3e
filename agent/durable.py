"""Files that must survive a power cut: whole old content or whole new content, never something between."""

import os
import stat
from pathlib import Path
from typing import IO


def write_durably(path: Path, content: bytes, *, mode: int = 0o644, owner: tuple[int, int] | None = None) -> None:
    """Writes beside, fsyncs, renames over `path` and fsyncs the directory: after return the content is on disk.
    `owner`: uid and gid it gets before it is there; this process's own where none is said."""
    beside = path.with_name(f".{path.name}.new")
    beside.unlink(missing_ok=True)
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        if owner is not None:
            os.fchown(file.fileno(), *owner)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    sync_directory(path.parent)


def open_plain(path: Path) -> IO[bytes]:
    """Opens for reading what a less trusted user may have put there: a link is refused, and so is what would block.

    Raises OSError.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{path} is no plain file")
    return os.fdopen(descriptor, "rb")


def sync_directory(directory: Path) -> None:
    """Makes renames inside `directory` durable."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(directory: Path) -> None:
    """Makes every file and directory below `directory`, and itself, durable."""
    for folder, _, files in os.walk(directory):
        for name in files:
            descriptor = os.open(Path(folder) / name, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        sync_directory(Path(folder))
