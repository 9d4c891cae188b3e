"""Records of the local cloud: small JSON files that are either the old one or the new one, never half of either."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from providers.errors import CloudUnavailable

Record = dict[str, Any]


class RecordDamaged(CloudUnavailable, ValueError):
    """A file of the local cloud that is no record: what it stands for is unknown, not gone."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(
            f"{path} is damaged ({why}): put it back as it was; or, where what it stands for is no more, remove it"
        )


def read_record(path: Path) -> Record | None:
    """The record, or None when there is none. Raises `RecordDamaged` on a file that is no record."""
    try:
        text = path.read_text()
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        value = json.loads(text)
    except ValueError as error:
        raise RecordDamaged(path, f"no JSON: {error}") from error
    if not isinstance(value, dict):
        raise RecordDamaged(path, f"not a record but a {type(value).__name__}")
    return value


def write_record(path: Path, record: Record) -> None:
    """Write through a temporary file and a rename; readers see all of it or nothing. Mode 0600: boot data is secret."""
    write_text(path, json.dumps(record, indent=1, sort_keys=True) + "\n")


def write_text(path: Path, text: str) -> None:
    """As `write_record`, for plain text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock file. The kernel frees it with the process; the descriptor is not inherited by VMs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
