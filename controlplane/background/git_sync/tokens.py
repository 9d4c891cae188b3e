"""Tokens by reference: the settings name a variable or a file, never the value. Read at each use: rotate at will."""

import os
import re
from pathlib import Path

from pydantic import SecretStr

from controlplane.background.git_sync.faults import SourceFault
from events.secrets import secret

_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*", re.ASCII)


def require_reference(token_env: str, token_file: Path | None, *, key: str = "token") -> None:
    """Raises ValueError unless at most one of the two is given, the variable by its name, the file by a whole path.

    `key` is what the settings call it, `KEY_env` and `KEY_file`.
    """
    if token_env and token_file:
        raise ValueError(f"give {key}_env or {key}_file, not both")
    if token_env and not _VARIABLE.fullmatch(token_env):
        raise ValueError(f"{key}_env is the name of a variable, as in TEAMS_GIT_TOKEN, never the {_word(key)} itself")
    if token_file is not None and not token_file.is_absolute():
        raise ValueError(f"{token_file} must be an absolute path")


def kept_token(token_env: str, token_file: Path | None, *, key: str = "token") -> SecretStr:
    """The token, empty where none is named. Raises SourceFault where one is named and is not there."""
    if token_env:
        token = os.environ.get(token_env, "").strip()
        where = f"the variable {token_env} ({key}_env)"
    elif token_file is not None:
        where = f"the file {token_file} ({key}_file)"
        try:
            token = token_file.read_text().strip()
        except (OSError, UnicodeDecodeError):
            token = ""
    else:
        return SecretStr("")
    if not token or not token.isprintable():
        raise SourceFault("CredentialMissing", f"{where} holds no {_word(key)}", "Set it for the server's process.")
    return secret(token)


def _word(key: str) -> str:
    return key.rpartition("_")[2]
