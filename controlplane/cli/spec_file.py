"""Spec files as they are read from disk or standard input, before anybody judges them."""

import sys
from dataclasses import dataclass
from pathlib import Path

from controlplane.cli.errors import CliError

STDIN = "-"
MAX_BYTES = 4 * 1024 * 1024
"""More is no file of ours, a saved plan included; what a spec may have is the spec's own rule."""


@dataclass(frozen=True, slots=True)
class SpecFile:
    """A file's bytes and the name it is told by."""

    name: str
    content: bytes

    @property
    def text(self) -> str:
        """The text. Raises CliError when it is none; `kedge validate` shows the place."""
        try:
            return self.content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise CliError(
                "the file is not text",
                where=f"{self.name}, byte {error.start}",
                why="it is not UTF-8",
                next_step=f"kedge validate --offline -f {self.name}",
            ) from None


def read_spec(name: str) -> SpecFile:
    """Reads a file, or standard input for `-`. Raises CliError."""
    try:
        if name == STDIN:
            content = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with Path(name).open("rb") as file:
                content = file.read(MAX_BYTES + 1)
    except OSError as error:
        next_step = "check the path" if isinstance(error, FileNotFoundError) else ""
        reason = error.strerror or type(error).__name__
        raise CliError("cannot read the file", where=name, why=reason, next_step=next_step) from None
    if len(content) > MAX_BYTES:
        raise CliError("the file is too large to be a spec", where=name, why=f"more than {MAX_BYTES} bytes")
    return SpecFile("standard input" if name == STDIN else name, content)
