"""One thread of a process stands still, and the others go on: held by ptrace, which goes on by itself once we end."""

import ctypes
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# <linux/ptrace.h>, <linux/wait.h>
_DETACH, _SEIZE, _INTERRUPT = 17, 0x4206, 0x4207
_ANY_THREAD = 0x40000000
_TRIES = 50


@contextmanager
def stopped_thread(pid: int, name: str) -> Iterator[None]:
    """The process's only thread whose name begins so (the kernel keeps 15 characters) stands still meanwhile.

    It is taken where it waits in a system call: a JVM whose thread were stopped in the middle of Java code would stand
    still as a whole at the next safepoint. The process may be killed at the end of the block. Raises OSError where
    that is not allowed.
    """
    tasks = Path(f"/proc/{pid}/task")
    (tid,) = [int(t.name) for t in tasks.iterdir() if (t / "comm").read_text().startswith(name[:15])]
    _ptrace(_SEIZE, tid)
    for _ in range(_TRIES):
        _ptrace(_INTERRUPT, tid)
        os.waitpid(tid, _ANY_THREAD)
        if not (tasks / str(tid) / "syscall").read_text().startswith("-1"):
            break
        _ptrace(_DETACH, tid)
        time.sleep(0.01)
        _ptrace(_SEIZE, tid)
    else:
        _ptrace(_DETACH, tid)
        raise AssertionError(f"thread {name} of {pid} never waits")
    try:
        yield
    finally:
        try:
            _ptrace(_DETACH, tid)
        except ProcessLookupError:  # killed: its process is not over before who held the thread has let it go
            with suppress(ChildProcessError):
                os.waitpid(tid, _ANY_THREAD)


def _ptrace(request: int, tid: int) -> None:
    call = ctypes.CDLL(None, use_errno=True).ptrace
    call.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    if call(request, tid, None, None) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"ptrace of thread {tid}: {os.strerror(number)}")
