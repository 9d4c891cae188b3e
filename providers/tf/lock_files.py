"""Which providers `init` chose first, with their checksums: Terraform's lock files, kept where the states are."""

import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


class ChosenProviders(Protocol):
    """Lock files by `pins`, which stand for a cloud's providers and their versions (`Workspace.pins`).

    Contract: tests/contract/test_chosen_providers.py. All verbs may raise what the database does.
    """

    def read(self, pins: str) -> bytes | None:
        """The lock file in force, None before the first `init`."""

    def keep(self, pins: str, body: bytes, *, instead_of: bytes | None) -> bool:
        """The lock file from now on. False, and nothing is kept, where another one came in the place of `instead_of`
        meanwhile: whoever chose first is who others are held to."""

    def keep_first(self, pins: str, body: bytes) -> None:
        """What a machine works with already, where nothing is on record."""

    def where(self, pins: str) -> str:
        """Where a person finds it, and what to delete there to have others chosen."""


@dataclass(frozen=True, slots=True)
class ChosenInFiles:
    """`ChosenProviders` in `<directory>/<pins>.hcl`, of one machine."""

    directory: Path

    def read(self, pins: str) -> bytes | None:
        try:
            return self._path(pins).read_bytes()
        except FileNotFoundError:
            return None

    def keep(self, pins: str, body: bytes, *, instead_of: bytes | None) -> bool:
        """See ChosenProviders. Whole or not at all."""
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        staged = self.directory / f".{pins}.{secrets.token_hex(4)}"
        staged.write_bytes(body)
        try:
            if instead_of is None:
                os.link(staged, self._path(pins))
            elif self.read(pins) == instead_of:
                staged.replace(self._path(pins))
            else:
                return False
        except FileExistsError:
            return False
        finally:
            staged.unlink(missing_ok=True)
        return True

    def keep_first(self, pins: str, body: bytes) -> None:
        if self.read(pins) is None:
            self.keep(pins, body, instead_of=None)

    def where(self, pins: str) -> str:
        return f"{self._path(pins)}: delete that file"

    def _path(self, pins: str) -> Path:
        return self.directory / f"{pins}.hcl"
