"""Processes by pid *and* start time, read from /proc: a pid alone may belong to a foreign process by now.

Fields of /proc/<pid>/stat are those of proc(5): 3 state, 5 process group, 6 session, 22 start time in clock
ticks since boot. They are counted after the last ')', because the name in field 2 may hold anything.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_BOOT_ID = _PROC / "sys/kernel/random/boot_id"
_DEAD_STATES = "ZX"


@dataclass(frozen=True, slots=True)
class ProcessId:
    """One process of one boot of the machine, for ever."""

    pid: int
    start_ticks: int
    boot_id: str

    def alive(self) -> bool:
        """True when that very process still runs; a zombie is dead."""
        seen = _stat(self.pid)
        return (
            seen is not None
            and seen.start_ticks == self.start_ticks
            and seen.state not in _DEAD_STATES
            and machine_boot_id() == self.boot_id
        )


def machine_boot_id() -> str:
    """Changes when the machine reboots: no process of another boot is alive."""
    return _BOOT_ID.read_text().strip()


def identify(pid: int) -> ProcessId | None:
    """The identity of a running process, None when there is none (or only a zombie)."""
    seen = _stat(pid)
    if seen is None or seen.state in _DEAD_STATES:
        return None
    return ProcessId(pid, seen.start_ticks, machine_boot_id())


def carrying(name: str) -> dict[int, str]:
    """Live processes that were started with `name` in their environment: pid -> its value."""
    prefix = f"{name}=".encode()
    found: dict[int, str] = {}
    for pid in _pids():
        for entry in _environment(pid):
            if entry.startswith(prefix):
                found[pid] = entry.removeprefix(prefix).decode(errors="replace")
    return found


def in_session(leader: ProcessId) -> tuple[int, ...]:
    """Pids of live processes in the session that `leader` opened, the leader included.

    The kernel keeps a session's number reserved while a member lives, so a leader that is gone proves nothing
    wrong; but a *different* process under the leader's pid proves that the whole session is over.
    """
    if machine_boot_id() != leader.boot_id:
        return ()
    seen = _stat(leader.pid)
    if seen is not None and seen.start_ticks != leader.start_ticks:
        return ()
    return tuple(
        pid for pid in _pids() if (stat := _stat(pid)) and stat.session == leader.pid and stat.state not in _DEAD_STATES
    )


def kill_all(pids: tuple[int, ...]) -> None:
    """SIGKILL each; one that is gone already is fine."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def wait_until(condition: Callable[[], bool], *, timeout_s: float, poll_s: float = 0.01) -> bool:
    """Poll until the condition holds; False when the time is over."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() >= deadline:
            return False
        time.sleep(poll_s)
    return True


@dataclass(frozen=True, slots=True)
class _Stat:
    state: str
    session: int
    start_ticks: int


def _stat(pid: int) -> _Stat | None:
    try:
        text = (_PROC / str(pid) / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text[text.rindex(")") + 2 :].split()
    return _Stat(state=fields[0], session=int(fields[3]), start_ticks=int(fields[19]))


def _pids() -> Iterator[int]:
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            yield int(entry.name)


def _environment(pid: int) -> list[bytes]:
    """Empty for a process that is gone, a zombie (it has none any more) or another user's (never one of ours)."""
    try:
        return (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return []
