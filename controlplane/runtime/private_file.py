"""Files with secrets in them: read only where nobody else can."""

import stat
from pathlib import Path


class PrivateFileUnusable(ValueError):
    """It cannot be read, or others can read it. The words do not name it: who asked knows it by a name of theirs."""


def private_text(path: Path) -> str:
    """The text of a file that its owner alone may read. Raises PrivateFileUnusable."""
    try:
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise PrivateFileUnusable("can be read by others: chmod 600 it")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PrivateFileUnusable(f"cannot be read: {type(error).__name__}") from error
