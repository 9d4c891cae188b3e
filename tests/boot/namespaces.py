"""Network namespaces of this machine by name, and sockets made inside one."""

import ctypes
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from tests.boot.debian_vm import ran

T = TypeVar("T")

NAMED = Path("/run/netns")
_CLONE_NEWNET = 0x40000000


def make(name: str) -> str:
    """A namespace with nothing but its loopback."""
    ran("ip", "netns", "add", name)
    ran("ip", "-n", name, "link", "set", "lo", "up")
    return name


def remove(name: str) -> None:
    """It goes, with every device in it and their other ends. Safe to repeat."""
    if (NAMED / name).exists():
        ran("ip", "netns", "del", name)


def within(name: str, act: Callable[[], T]) -> T:
    """What `act` gives, called inside the namespace: a socket that it makes stays there. Raises what it raises."""
    # A thread of its own: only that one enters, and it ends there.
    with ThreadPoolExecutor(1, initializer=_enter, initargs=(NAMED / name,)) as there:
        return there.submit(act).result()


@contextmanager
def living_in(name: str) -> Iterator[None]:
    """This thread, and what it starts, is in the namespace while the block runs."""
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    _enter(NAMED / name)
    try:
        yield
    finally:
        _enter(Path(f"/proc/self/fd/{before}"))
        os.close(before)


def _enter(namespace: Path) -> None:
    with namespace.open("rb") as there:
        if ctypes.CDLL(None, use_errno=True).setns(there.fileno(), _CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"network namespace {namespace}")


def forwards(name: str) -> None:
    """Packets are passed on between its devices."""
    within(name, lambda: Path("/proc/sys/net/ipv4/ip_forward").write_text("1"))
