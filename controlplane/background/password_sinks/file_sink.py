"""Passwords as files of a directory of the server's machine, which whatever carries secrets takes up from there.

    [kafka.password_sinks] apps = "file:/var/lib/kedge-passwords"
        CLUSTER/USER.properties     0600, of the server's user; replaced as a whole

The names are those of librdkafka. Clients in Java read the value by `FileConfigProvider` (KIP-297):
`${file:/.../USER.properties:sasl.password}`.
"""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from controlplane.background.password_sinks.sink import NotWritten, UserPassword
from controlplane.runtime.atomic_file import replacing

FILE = "file:"
_UNUSABLE = "SinkUnusable"
_WRITTEN_BY_OTHERS = 0o022


def directory_of(text: str) -> Path:
    """That of `file:/DIRECTORY`. Raises ValueError."""
    path = Path(text.removeprefix(FILE))
    if not text.startswith(FILE) or not path.is_absolute() or ".." in path.parts:
        raise ValueError("a sink is `file:` and a directory from the root on, as in file:/var/lib/kedge-passwords")
    return path


@dataclass(frozen=True, slots=True)
class FileSink:
    """`name`: as specs call it. The directory has to be there: it is not made, so that one that is not mounted yet is
    not taken for an empty one."""

    name: str
    directory: Path

    def put(self, one: UserPassword) -> None:
        """See PasswordSink."""
        self._judge(self.directory)
        folder = self.directory / one.cluster
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            self._judge(folder)
            with replacing(folder / f"{one.user}.properties") as fresh:
                fresh.write_text(_text(one), encoding="utf-8")
        except OSError as error:
            raise self._unusable(folder, f"cannot be written to: {_why(error)}") from None

    def _judge(self, folder: Path) -> None:
        """Raises NotWritten for one that others could put another file into, or read by a link of theirs."""
        try:
            seen = folder.lstat()
        except OSError as error:
            raise self._unusable(folder, f"cannot be looked at: {_why(error)}") from None
        if not stat.S_ISDIR(seen.st_mode):
            raise self._unusable(folder, "is no directory (a link to one is none): make it, and write its own path")
        if seen.st_uid != os.geteuid():
            raise self._unusable(folder, f"is of user {seen.st_uid}: chown it to the server's user")
        if stat.S_IMODE(seen.st_mode) & _WRITTEN_BY_OTHERS:
            raise self._unusable(folder, "can be written to by others: chmod 700 it")

    def _unusable(self, folder: Path, why: str) -> NotWritten:
        return NotWritten(_UNUSABLE, f"sink `{self.name}`: {folder} {why}")


def _text(one: UserPassword) -> str:
    return (
        f"# Password {one.number} of {one.user} in {one.cluster}, by Kedge, which replaces this file as a whole.\n"
        f"sasl.mechanism=SCRAM-SHA-512\nsasl.username={one.user}\nsasl.password={one.password.get_secret_value()}\n"
    )


def _why(error: OSError) -> str:
    return error.strerror or type(error).__name__
