"""The secret this VM made for itself: the one in force, the next one, and the one before, each a file (0600)."""

import os
import re
import secrets
from pathlib import Path

from agent.durable import sync_directory, write_durably
from agent.secret_log import remember

_SECRET = re.compile(r"[0-9a-f]{64}", re.ASCII)


class CredentialFiles:
    """The files below the agent's state, and the mark that the server has taken the credential.

    `credential` is in force. `credential.next` was made for a rotation that is under way: nobody has used it yet, so
    the one in force still counts. `credential.earlier` was in force before: a server that was restored from a backup
    may know no other. Whatever a crash leaves, one that the server takes is among the first two.
    """

    def __init__(self, state: Path) -> None:
        self._secret = state / "credential"
        self._next = state / "credential.next"
        self._earlier = state / "credential.earlier"
        self._enrolled = state / "enrolled"

    def load_or_make(self) -> str:
        """The secret: 32 random bytes, hex. On disk before anybody hears of it: a crash never makes a second one."""
        kept = _kept(self._secret)
        if kept:
            os.chmod(self._secret, 0o600)
            return kept
        return _made(self._secret)

    def next(self) -> str:
        """The secret to rotate to, durable. The same one until `switch`, also over a crash. Raises OSError."""
        kept = _kept(self._next)
        return kept if _SECRET.fullmatch(kept) else _made(self._next)

    def switch(self, *, shown: str) -> str:
        """Puts the next secret in force, durably, and returns it; `shown` is the one it replaces. Raises OSError.

        Only after the server has recorded the next one, and before it is used: a crash between the two writes leaves
        the old one in force and the next one recorded, and then the rotation is simply done once more.
        """
        secret = self._next.read_text().strip()
        write_durably(self._earlier, shown.encode(), mode=0o600)
        self._next.replace(self._secret)
        sync_directory(self._secret.parent)
        return secret

    @property
    def earlier(self) -> str:
        """The secret that was in force before the last rotation, "" when there was none."""
        return _kept(self._earlier)

    @property
    def is_enrolled(self) -> bool:
        return self._enrolled.exists()

    def keep_enrolled(self) -> None:
        self._enrolled.touch(mode=0o600)
        sync_directory(self._enrolled.parent)

    def forget_enrolled(self) -> None:
        """The server does not know the credential: enrol again. The secret stays the same."""
        self._enrolled.unlink(missing_ok=True)


def _kept(path: Path) -> str:
    try:
        kept = path.read_text().strip()
    except FileNotFoundError:
        return ""
    remember(kept)
    return kept


def _made(path: Path) -> str:
    made = secrets.token_hex(32)
    remember(made)
    write_durably(path, made.encode(), mode=0o600)
    return made
