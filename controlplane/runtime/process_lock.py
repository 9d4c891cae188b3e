"""Proof of death without waiting: the leader of a home holds a kernel lock for as long as its process lives.

A lease alone cannot tell a dead server from a slow one, so its successor waits out a term. On the same machine the
kernel knows: it frees the lock with the process, however that ended. Who gets the lock may give back the lease whose
owner is named in it. A server that is merely stopped keeps the lock, and its lease is waited out as usual.
"""

import fcntl
import json
from pathlib import Path
from typing import IO


class LeaderLock:
    """One home's lock. Not for several threads."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[str] | None = None

    @property
    def is_held(self) -> bool:
        return self._file is not None

    def take(self) -> bool:
        """Takes the lock; False while another process holds it. Taking it twice is fine."""
        if self._file is not None:
            return True
        file = self._path.open("a+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return False
        self._file = file
        return True

    def give_back(self) -> None:
        """Lets the lock go; what it names stays, for the next holder to read."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def last_leader(self) -> tuple[str, int] | None:
        """(owner, epoch) of the lease of whoever led with this lock before. Only for its holder."""
        if self._file is None:
            return None
        self._file.seek(0)
        try:
            record = json.loads(self._file.read())
            return str(record["owner"]), int(record["epoch"])
        except (ValueError, KeyError, TypeError):
            return None

    def name_leader(self, owner: str, epoch: int) -> None:
        """Writes our own lease into the lock we hold; without effect when we do not hold it."""
        if self._file is None:
            return
        self._file.seek(0)
        self._file.truncate()
        self._file.write(json.dumps({"owner": owner, "epoch": epoch}))
        self._file.flush()
