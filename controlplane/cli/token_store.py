"""Tokens of people on this machine: one for each server, in a file that only its owner reads."""

import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from controlplane.cli.errors import CliError

ITSELF_IN = "KEDGE_TOKEN"
FILE_NAMED_IN = "KEDGE_TOKEN_FILE"


def tokens_file(environ: Mapping[str, str]) -> Path | None:
    """Where `kedge login` keeps them: `kedge/tokens.json` of XDG_CONFIG_HOME, else of ~/.config. None without HOME."""
    config, home = environ.get("XDG_CONFIG_HOME"), environ.get("HOME")
    if config:
        return Path(config) / "kedge" / "tokens.json"
    return Path(home) / ".config" / "kedge" / "tokens.json" if home else None


def token_for(environ: Mapping[str, str], url: str) -> str:
    """The person's token for a server: KEDGE_TOKEN, the file KEDGE_TOKEN_FILE names, or what `kedge login` kept.

    "" where there is none. Raises CliError for a file that others may read.
    """
    if environ.get(ITSELF_IN):
        return checked(environ[ITSELF_IN], where=ITSELF_IN)
    named = environ.get(FILE_NAMED_IN)
    if named:
        return checked(private_text(Path(named).expanduser()), where=named)
    path = tokens_file(environ)
    return _read(path).get(url, "") if path is not None else ""


def keep_token(environ: Mapping[str, str], url: str, token: str) -> Path:
    """Keeps a token for a server, "" forgets it. Raises CliError."""
    path = tokens_file(environ)
    if path is None:
        raise CliError("there is no place to keep the token", next_step="set HOME, or use KEDGE_TOKEN_FILE")
    kept = {**_read(path), url: token}
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor, fresh = tempfile.mkstemp(dir=path.parent, prefix=".tokens.")  # mode 0600 from its first moment
    try:
        with os.fdopen(descriptor, "w") as file:
            json.dump({server: text for server, text in kept.items() if text}, file, indent=2)
        os.replace(fresh, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(fresh)
    return path


def checked(token: str, *, where: str) -> str:
    """A token that may go into a header. Raises CliError."""
    token = token.strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise CliError(
            "that is not a token", where=where, next_step="make one on your account page, and copy all of it"
        )
    return token


def private_text(path: Path) -> str:
    """The text of a file that only its owner may read. Raises CliError."""
    try:
        if path.stat().st_mode & 0o077:
            raise CliError(
                "the token is not read", where=str(path), why="others may read it", next_step=f"chmod 600 {path}"
            )
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not a text"
        raise CliError("cannot read the token", where=str(path), why=why) from None


def _read(path: Path) -> dict[str, str]:
    if not path.exists():
        return {}
    try:
        kept = json.loads(private_text(path))
        return {str(server): str(token) for server, token in kept.items()}
    except (ValueError, AttributeError):
        raise CliError(
            "the stored tokens are invalid", where=str(path), next_step="delete the file; log in again"
        ) from None
