"""Processes that outlive the agent: found again after its restart, signalled without hitting a foreign one, proved
gone.

A service is started in the agent's own process group, so that killing the group is a power cut, and without a
parent-death signal, so that it survives the agent. Facts of /proc: proc(5), fields of /proc/<pid>/stat.
"""

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from agent.durable import write_durably
from agent.service_user import ServiceUser

_STATE, _START_TICKS = 0, 19  # positions in /proc/<pid>/stat after the command name


@dataclass(frozen=True, slots=True)
class LiveProcess:
    """A process for ever: pids are reused, (pid, start time in clock ticks since boot) within one boot is not."""

    pid: int
    start_ticks: int


def identify(pid: int) -> LiveProcess | None:
    """None when there is no such process, or only its zombie: a zombie holds no port and no file."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat[stat.rindex(")") + 2 :].split()
    return None if fields[_STATE] in "ZX" else LiveProcess(pid, int(fields[_START_TICKS]))


def is_alive(process: LiveProcess) -> bool:
    return identify(process.pid) == process


def send_signal(process: LiveProcess, number: signal.Signals) -> bool:
    """True when it went to exactly this process, False when that was gone. A pidfd pins the pid meanwhile."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return False
    try:
        if not is_alive(process):
            return False
        signal.pidfd_send_signal(descriptor, number)
        return True
    except ProcessLookupError:
        return False
    finally:
        os.close(descriptor)


class ServiceProcess:
    """A live service: our child, or adopted from an agent before us (then its exit code stays unknown)."""

    def __init__(self, identity: LiveProcess, start_id: str, child: subprocess.Popen[bytes] | None = None) -> None:
        self.id = identity
        self._start_id = start_id
        self._child = child

    @property
    def pid(self) -> int:
        return self.id.pid

    @property
    def start_id(self) -> str:
        return self._start_id

    @property
    def exit_code(self) -> int | None:
        """Shell style: 143 for SIGTERM. None while it runs, and for adopted processes."""
        code = self._child.returncode if self._child else None
        return None if code is None else (code if code >= 0 else 128 - code)

    def is_alive(self) -> bool:
        return self._child.poll() is None if self._child else is_alive(self.id)

    def terminate(self) -> None:
        send_signal(self.id, signal.SIGTERM)

    def kill(self) -> None:
        send_signal(self.id, signal.SIGKILL)


@dataclass(frozen=True, slots=True)
class Marks:
    """How a service is known by its command line: `-Dkedge.service=<root>/<name>` and `-Dkedge.start=<start_id>`."""

    service: str
    pid_file: Path

    @classmethod
    def of(cls, *, root: Path, service: str, directory: Path) -> "Marks":
        return cls(service=f"-Dkedge.service={root}/{service}", pid_file=directory / "pid.json")

    def arguments(self, start_id: str) -> tuple[str, str]:
        return self.service, f"-Dkedge.start={start_id}"


def spawn(
    command: Sequence[str],
    *,
    marks: Marks,
    start_id: str,
    output: Path,
    env: Mapping[str, str],
    user: ServiceUser | None = None,
) -> ServiceProcess:
    """Starts `command` (which carries the marks) in our process group, as `user` where one is given. Output goes to
    `output`, the old one to `.1`."""
    if output.exists():
        output.replace(output.with_name(output.name + ".1"))
    with output.open("wb") as sink:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            env=dict(env),
            cwd=output.parent,
            user=user.uid if user else None,
            group=user.gid if user else None,
            extra_groups=() if user else None,
            umask=0o027 if user else -1,
        )
    identity = identify(child.pid) or LiveProcess(child.pid, 0)
    write_durably(marks.pid_file, json.dumps(asdict(identity)).encode())
    return ServiceProcess(identity, start_id, child)


def adopt(marks: Marks) -> ServiceProcess | None:
    """The live process of a service that an earlier agent started: by pid file, else by a look through /proc.

    An agent may be killed after starting a service and before writing the file.
    """
    with contextlib.suppress(FileNotFoundError, ValueError, KeyError, TypeError):
        kept = json.loads(marks.pid_file.read_bytes())
        identity = identify(int(kept["pid"]))
        if identity is not None and (process := _marked(identity, marks)):
            return process
    for entry in Path("/proc").iterdir():
        identity = identify(int(entry.name)) if entry.name.isdigit() else None
        if identity is not None and (process := _marked(identity, marks)):
            return process
    return None


def _marked(identity: LiveProcess, marks: Marks) -> ServiceProcess | None:
    try:
        arguments = Path(f"/proc/{identity.pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    if marks.service not in arguments:
        return None
    start = next((a for a in arguments if a.startswith("-Dkedge.start=")), "")
    return ServiceProcess(identity, start.removeprefix("-Dkedge.start="))
