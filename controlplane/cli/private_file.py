"""A new file that its owner alone may read, there before what is to be in it is asked for."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from controlplane.cli.errors import CliError


@contextmanager
def new_private_file(path: Path) -> Iterator[Callable[[str], None]]:
    """A function that writes the text of a file of mode 0600. The file is made first, so that nothing is asked for that
    could not be kept; it is gone again when the block ends with an error. Raises CliError where one is there already.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        next_step = "name another file, or move that one away"
        raise CliError("the file is there already", where=str(path), next_step=next_step) from None
    except OSError as error:
        raise CliError("cannot make the file", where=str(path), why=error.strerror or "") from None
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:

            def write(text: str) -> None:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())

            yield write
    except BaseException:
        path.unlink(missing_ok=True)
        raise
