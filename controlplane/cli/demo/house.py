"""The server the demo runs for itself, and the broom: what an earlier demo left is ended first, by process id."""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import psutil

from agent.exit_reason import exit_reason
from controlplane.cli.address import locate
from controlplane.cli.client import Client
from controlplane.cli.errors import CliError
from providers.local.reap import reap

START_WITHIN_S = 300.0
"""A server that ends is told at once; one that lives takes minutes on a machine that has much else to do."""
STOP_WITHIN_S = 30.0
LOCAL_CLOUD = "local"
"""Below the home: where the server keeps its `local` cloud (controlplane.server.clouds)."""
_PR_SET_PDEATHSIG = 1


class DemoFailed(Exception):
    """The demo cannot go on. Says what happened and where to look."""


class House:
    """A home directory with a `kedge server` in it. Everything in it belongs to the demo and goes with it."""

    def __init__(self, home: Path, kafka_dir: Path, settings: Mapping[str, str]) -> None:
        """`settings`: of the server, `KEDGE_*`, beside those every demo has."""
        self.home = home
        self._kafka_dir = kafka_dir
        self._settings = settings
        self._server: subprocess.Popen[bytes] | None = None
        self.client = Client(lambda: locate(self._environ, home.parent), actor="demo", sleep=time.sleep)

    @property
    def log(self) -> Path:
        return self.home / "server.log"

    @property
    def is_up(self) -> bool:
        return self._server is not None and self._server.poll() is None

    def sweep(self) -> int:
        """Ends what an earlier demo left, server and VMs, and removes its files. Returns how many processes."""
        ended = self._end_old_server()
        ended += reap(self.home / LOCAL_CLOUD)
        shutil.rmtree(self.home, ignore_errors=True)
        return ended

    def open(self) -> None:
        """Starts the server and waits until it answers. Raises DemoFailed with the end of its log."""
        self.home.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            # This very interpreter and its own arguments: nothing of what a person typed ends up in the command.
            self._server = subprocess.Popen(
                [sys.executable, "-m", "controlplane.cli", "server"],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env=self._environ,
                start_new_session=True,
                preexec_fn=_die_with_parent,
            )
        deadline = time.monotonic() + START_WITHIN_S
        while time.monotonic() < deadline:
            if not self.is_up:
                raise DemoFailed(f"the server ended at once: {self._reason()}\n{self.tail()}")
            try:
                self.client.version(timeout_s=2)
                return
            except CliError:
                time.sleep(0.2)
        raise DemoFailed(f"the server did not answer within {START_WITHIN_S:.0f} s:\n{self.tail()}")

    def close(self) -> int:
        """Stops the server in order, then every VM. Returns how many processes had to be ended. Safe to repeat."""
        self.client.close()
        if self._server is not None and self._server.poll() is None:
            self._server.send_signal(signal.SIGTERM)
            try:
                self._server.wait(STOP_WITHIN_S)
            except subprocess.TimeoutExpired:
                self._server.kill()
                self._server.wait()
        return reap(self.home / LOCAL_CLOUD)

    def welcome(self) -> str:
        """Where the portal is and how to sign in, as the server told it at its first start; "" if it did not."""
        lines = self.log.read_text(errors="replace").splitlines()
        return "\n".join(line for line in lines if line.startswith("The portal is at "))

    def _reason(self) -> str:
        """Why the server ended, where its log is one that says so: the end of a log rarely does."""
        try:
            return exit_reason(self.log.read_text(errors="replace")).words
        except OSError as error:
            return f"({error})"

    def tail(self, lines: int = 15) -> str:
        """The end of the server's log."""
        try:
            return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])
        except OSError as error:
            return f"({error})"

    @property
    def _environ(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("KEDGE_")}
        own = {
            "KEDGE_HOME": str(self.home),
            "KEDGE_KAFKA__DIR": str(self._kafka_dir),
            "KEDGE_PROCESS__PORT": "0",
            "KEDGE_PLANNER__REQUIRE_SPARK": "true",
            "KEDGE_PLANNER__SPARK_MASTER": "local[2]",
            "PYTHONUNBUFFERED": "1",
        }
        return {**kept, **own, **self._settings}

    def _end_old_server(self) -> int:
        """Any server whose home is this one, and what it started: known by the environment it was given."""
        ours = [p for p in psutil.process_iter() if _home_of(p) == str(self.home) and p.pid != os.getpid()]
        for process in ours:
            _kill(process)
        _, alive = psutil.wait_procs(ours, timeout=10)
        if alive:
            raise DemoFailed(f"processes {[p.pid for p in alive]} of an earlier demo do not die")
        return len(ours)


def _home_of(process: psutil.Process) -> str:
    try:
        return str(process.environ().get("KEDGE_HOME", ""))
    except psutil.Error:
        return ""


def _kill(process: psutil.Process) -> None:
    try:
        process.kill()
    except psutil.NoSuchProcess:
        return


def _die_with_parent() -> None:
    """In the child: a demo that is killed takes its server along. VMs stay, as in a cloud, until the sweep."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
