"""A file that appears whole or not at all, whatever crashes or fills up meanwhile."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """An empty file beside `path`, mode 0600, that takes its place on disk when the block ends without an error."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    os.close(descriptor)
    fresh = Path(name)
    try:
        yield fresh
        _sync(fresh)
        fresh.replace(path)
        _sync(path.parent)
    finally:
        fresh.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
