"""Folders that another Unix user gets to though a folder above them is closed, as a checkout below a home of mode 0700.

For the calling process alone, in a mount namespace of its own: what is closed is covered by an empty folder that is
open, and the folders asked for are put back into it, at the same paths. What lies beside them is not there. Needs root.
"""

import ctypes
import os
import stat
from collections.abc import Iterable
from pathlib import Path

_CLONE_NEWNS = 0x00020000
_MS_BIND, _MS_REC, _MS_PRIVATE = 0x1000, 0x4000, 0x40000
_OPEN_TO_ALL = stat.S_IROTH | stat.S_IXOTH
_LIBC = ctypes.CDLL(None, use_errno=True)


class NotReachable(RuntimeError):
    """The folders cannot be opened to another user here. Says what to do."""


def open_to_all(folders: Iterable[Path]) -> None:
    """Opens the way to these folders, for this process and what it forks. Where the way is open nothing is done."""
    named = {Path(os.path.abspath(folder)): folder.resolve() for folder in folders}
    wanted = sorted(set(named.values()))
    closed = sorted({c for path in (*named, *wanted) if (c := closed_above(path)) is not None})
    if not closed:
        return
    held: dict[Path, int] = {}
    mask = os.umask(0o022)
    try:
        _call("unshare", _LIBC.unshare(_CLONE_NEWNS))
        _mount(None, "/", None, _MS_REC | _MS_PRIVATE)
        # Opened in the new namespace: what is held from another one cannot be mounted.
        held |= {path: os.open(path, os.O_PATH) for path in wanted if closed_above(path) is not None}
        for folder in closed:
            _mount("tmpfs", str(folder), "tmpfs", 0, "mode=755")
        for path, descriptor in held.items():
            if not path.exists():  # below another one of them it is there already
                path.mkdir(parents=True)
                _mount(f"/proc/self/fd/{descriptor}", str(path), None, _MS_BIND | _MS_REC)
        for path in (p for p in named if not os.path.lexists(p)):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(named[path])
    except OSError as error:
        raise NotReachable(
            f"another Unix user does not get to {wanted[0]}: {closed[0]} is closed to others, and this machine does "
            f"not let us open it for a test alone ({error}); run the tests from a folder that others can read"
        ) from error
    finally:
        os.umask(mask)
        for descriptor in held.values():
            os.close(descriptor)


def closed_above(path: Path) -> Path | None:
    """The topmost folder above it that others may not enter or list; None where the way is open."""
    return next((p for p in reversed(path.parents) if p.stat().st_mode & _OPEN_TO_ALL != _OPEN_TO_ALL), None)


def _mount(source: str | None, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    words = [None if word is None else word.encode() for word in (source, target, kind, options)]
    _call(f"mount {target}", _LIBC.mount(words[0], words[1], words[2], ctypes.c_ulong(flags), words[3]))


def _call(what: str, code: int) -> None:
    if code != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
