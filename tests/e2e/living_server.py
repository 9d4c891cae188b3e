"""A real `kedge server` that tests may kill, freeze and start again. Known by its pid, never by a name."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import psutil

_T = TypeVar("_T")

START_WITHIN_S = 120.0
STOP_WITHIN_S = 30.0


class LivingServer:
    """One server process on a home. Several may share one home; each writes a log of its own."""

    def __init__(self, home: Path, settings: Mapping[str, str], *, name: str = "server") -> None:
        self.home = home
        self.log = home / f"{name}.log"
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None, "this server was never started"
        return self._process.pid

    @property
    def is_up(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Starts it and returns at once."""
        assert not self.is_up, "this server runs already"
        self.home.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "controlplane.cli", "server"],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env=self._environ(),
                start_new_session=True,
            )

    def kill(self) -> None:
        """kill -9: no goodbye, no clean-up."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """SIGTERM, and SIGKILL when that is not enough. Safe to repeat."""
        if self._process is None or self._process.poll() is not None:
            return
        self._process.send_signal(signal.SIGCONT)
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_WITHIN_S)
        except subprocess.TimeoutExpired:
            self.kill()

    def children(self) -> list[psutil.Process]:
        """Every process below it now: Terraform, its provisioners, the planning worker."""
        return psutil.Process(self.pid).children(recursive=True)

    def listens(self) -> bool:
        """Whether `server.json` names this very process."""
        try:
            return int(json.loads((self.home / "server.json").read_text())["pid"]) == self.pid
        except (FileNotFoundError, ValueError, KeyError):
            return False

    def tail(self, lines: int = 25) -> str:
        try:
            return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])
        except FileNotFoundError:
            return "(no log)"

    def _environ(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("KEDGE_")}
        own = {"KEDGE_HOME": str(self.home), "KEDGE_PORT": "0", "PYTHONUNBUFFERED": "1"}
        return {**kept, **own, **self._settings}
