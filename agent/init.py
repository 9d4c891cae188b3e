"""`python -m agent.init --root DIR`: process 1 of a VM of the `local` cloud, and leader of its process group.

It keeps the agent alive and reaps what the agent leaves behind; a Kafka that outlives its agent becomes its child.
SIGTERM, SIGINT or SIGPWR is the power button: services are stopped in order and nothing is recorded as stopped, since
the VM may boot again. SIGKILL of the group is a power cut.
"""

import argparse
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from agent.backoff import doubled_s
from agent.boots import next_boot_id
from agent.durable import write_durably
from agent.process import LiveProcess, identify, send_signal

_PR_SET_CHILD_SUBREAPER = 36  # prctl(2)
_BACKOFF_S, _BACKOFF_CAP_S, _LONG_RUN_S = 0.2, 10.0, 60.0
_AGENT_GRACE_S, _TERM_GRACE_S, _KILL_GRACE_S = 90.0, 30.0, 5.0
_OUTPUT_CAP_BYTES = 1024 * 1024
_BUTTONS = (signal.SIGTERM, signal.SIGINT, signal.SIGPWR)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m agent.init", description="Process 1 of a VM of the local cloud.")
    parser.add_argument("--root", type=Path, required=True, help="root directory of the VM")
    parser.add_argument("command", nargs="*", help="what to keep alive, after `--`; the agent by default")
    arguments = parser.parse_args(argv)
    root = arguments.root.resolve()
    command = arguments.command or [sys.executable, "-m", "agent", "--root", str(root)]
    become_init()
    (root / "logs").mkdir(parents=True, exist_ok=True)
    identity = write_pid_file(root)
    environ = {**os.environ, "KEDGE_BOOT_ID": next_boot_id(root / "agent")}
    Init(command, environ=environ, output=root / "logs" / "agent.out").run()
    forget_pid_file(root, identity)
    return 0


def become_init() -> None:
    """Leader of a session (so of a process group) of its own, and the parent of every orphan below."""
    if os.getpgrp() != os.getpid():
        os.setsid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def write_pid_file(root: Path) -> LiveProcess:
    """`DIR/init.pid`: JSON `{"pid": .., "start_ticks": ..}`, where start_ticks is field 22 of /proc/<pid>/stat."""
    identity = identify(os.getpid())
    if identity is None:
        raise OSError("/proc does not show this process: is /proc mounted?")
    write_durably(root / "init.pid", json.dumps(asdict(identity)).encode())
    return identity


def read_pid_file(root: Path) -> LiveProcess | None:
    """The init that was last started on `root`; whether it lives is another question (`agent.process.is_alive`)."""
    try:
        kept = json.loads((root / "init.pid").read_bytes())
        return LiveProcess(int(kept["pid"]), int(kept["start_ticks"]))
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def forget_pid_file(root: Path, identity: LiveProcess) -> None:
    if read_pid_file(root) == identity:
        (root / "init.pid").unlink()


class Init:
    """Keeps one command alive until a button is pressed, then brings the whole group down."""

    def __init__(self, command: Sequence[str], *, environ: dict[str, str], output: Path) -> None:
        self._command = list(command)
        self._environ = environ
        self._output = output
        self._agent: LiveProcess | None = None
        self._off = threading.Event()
        self._wake_read, self._wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def run(self) -> None:
        self._listen()
        deaths_in_a_row = 0
        while not self._off.is_set():
            started_s = time.monotonic()
            self._agent = self._spawn()
            self._wait(lambda: self._off.is_set() or self._agent is None)
            if self._off.is_set():
                break
            deaths_in_a_row = 1 if time.monotonic() - started_s >= _LONG_RUN_S else deaths_in_a_row + 1
            pause_s = doubled_s(_BACKOFF_S, _BACKOFF_CAP_S, deaths_in_a_row)
            self._wait(self._off.is_set, until_s=time.monotonic() + pause_s)
        self._bring_down()

    def _bring_down(self) -> None:
        """The agent stops its services in order; whoever is left then gets SIGTERM, at last SIGKILL."""
        if self._agent is not None:
            send_signal(self._agent, signal.SIGPWR)
            self._wait(lambda: self._agent is None, until_s=time.monotonic() + _AGENT_GRACE_S)
        for number, grace_s in ((signal.SIGTERM, _TERM_GRACE_S), (signal.SIGKILL, _KILL_GRACE_S)):
            for process in group_members():
                send_signal(process, number)
            self._wait(lambda: not group_members(), until_s=time.monotonic() + grace_s, look_every_s=0.1)

    def _spawn(self) -> LiveProcess | None:
        is_long = self._output.exists() and self._output.stat().st_size > _OUTPUT_CAP_BYTES
        with self._output.open("wb" if is_long else "ab") as sink:
            child = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT, env=self._environ
            )
        child.returncode = 0  # reaped by `_reap`, which waits for every child; Popen must not wait for it as well
        return identify(child.pid)

    def _wait(self, until: Callable[[], bool], *, until_s: float = float("inf"), look_every_s: float = 10.0) -> None:
        """Sleeps until `until()` or the time is over. Woken by signals, a child's death among them."""
        self._reap()
        while not until() and (left_s := until_s - time.monotonic()) > 0:
            ready, _, _ = select.select([self._wake_read], [], [], min(left_s, look_every_s))
            if ready:
                os.read(self._wake_read, 4096)
            self._reap()

    def _reap(self) -> None:
        while True:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                pid = 0
            if pid == 0:
                break
            if self._agent is not None and pid == self._agent.pid:
                self._agent = None

    def _listen(self) -> None:
        def press(_number: int, _frame: object) -> None:
            self._off.set()

        for button in _BUTTONS:
            signal.signal(button, press)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)  # a handler, so that the wake-up pipe is written
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)


def group_members() -> list[LiveProcess]:
    """Live processes of our group, ourselves apart."""
    own, group = os.getpid(), os.getpgrp()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != own and _group_of(int(entry.name)) == group:
            identity = identify(int(entry.name))
            found += [identity] if identity else []
    return found


def _group_of(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


if __name__ == "__main__":
    sys.exit(main())
