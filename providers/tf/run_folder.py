"""The folder the runs of one state work in, on this machine: one run at a time, and nothing of an earlier one alive.

One lock per folder held by the kernel for as long as our process lives, and a record of the run itself: Terraform's
processes carry the run's id in their environment, so whether an earlier run is over is a question to the process
table, not to a clock.
"""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from providers import process
from providers.errors import RunInProgress
from providers.tf.state_body import serial_of

RUN_ID = "KEDGE_TERRAFORM_RUN"
"""Environment variable of every process of a run: Terraform, its plugins, its provisioners (never a VM)."""

_EARLIER_RUN_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class RunFolder:
    """`<root>/<cluster uid>/<cloud>.<account>.<region>/`, readable by its owner only. It is there while a run needs it.

    `kind` is of what runs: of each kind there is one at a time.
    """

    directory: Path
    kind: str = "run"

    @property
    def workspaces(self) -> Path:
        return self.directory / f"{self.kind}s"

    @property
    def initialised(self) -> Path:
        """What `init` made, of all states below the root."""
        return self.directory.parents[1] / "initialised"

    @contextmanager
    def locked(self, run_id: str) -> Iterator[None]:
        """Hold the folder for one run. Raises `RunInProgress` while another run, or what is left of one, is alive."""
        with self._take() as file:
            if earlier := _read(self._owner_file).get("run"):
                self._end(str(earlier))
            self._owner_file.write_text(json.dumps({"run": run_id, "pid": os.getpid()}))
            try:
                yield
            finally:
                self._end(run_id)
                self._leave(file)

    def errored_states(self) -> tuple[Path, ...]:
        """States that Terraform could not write, oldest first."""
        return tuple(sorted(self.workspaces.glob("*/errored.tfstate"), key=lambda path: serial_of(path.read_bytes())))

    def clear_workspaces(self, *, keep: Path) -> None:
        """Remove what earlier runs left, once their states are pushed; `keep` is the workspace of this run."""
        for directory in self.workspaces.glob("*"):
            if directory != keep:
                shutil.rmtree(directory)

    def _take(self) -> IO[str]:
        """The lock, of the file that is there now: who left last took the one before away."""
        while True:
            try:
                self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
                file = self._lock.open("a+")
            except FileNotFoundError:
                continue
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.close()
                raise RunInProgress(f"another run holds {self.directory}: {self._owner()}") from None
            if _is_there(self._lock, file):
                return file
            file.close()

    def _leave(self, file: IO[str]) -> None:
        """Nothing stays but the state and what could not be pushed. The lock is held until the file is closed."""
        with suppress(OSError):  # not empty, or never made
            self.workspaces.rmdir()
        if _is_there(self._lock, file):
            self._lock.unlink()
        with suppress(OSError):
            self.directory.rmdir()
            self.directory.parent.rmdir()

    def _end(self, run_id: str) -> None:
        """The lock is ours, so nobody waits for that run any more; make sure its processes are gone, too."""
        end_run(run_id)
        if self.kind == "run":
            # The kernel freed Terraform's own lock with the process; its note of who held it says nothing any more.
            (self.directory / ".terraform.tfstate.lock.info").unlink(missing_ok=True)
        self._owner_file.unlink(missing_ok=True)

    def _owner(self) -> str:
        owner = _read(self._owner_file)
        return f"run {owner.get('run')} of process {owner.get('pid')}" if owner else "it is just starting"

    @property
    def _lock(self) -> Path:
        return self.directory / f"{self.kind}.lock"

    @property
    def _owner_file(self) -> Path:
        return self.directory / f"{self.kind}.json"


def processes_of(run_id: str) -> tuple[int, ...]:
    """Pids of the processes of a run on this machine, ours left out."""
    return tuple(pid for pid, value in process.carrying(RUN_ID).items() if value == run_id and pid != os.getpid())


def end_run(run_id: str) -> None:
    """Kills what is left of a run on this machine. Raises `RunInProgress` when it does not die."""

    def nothing_left() -> bool:
        found = processes_of(run_id)
        process.kill_all(found)
        return not found

    if not process.wait_until(nothing_left, timeout_s=_EARLIER_RUN_TIMEOUT_S):
        raise RunInProgress(f"processes {processes_of(run_id)} of run {run_id} do not end")


def _is_there(path: Path, file: IO[str]) -> bool:
    """Whether the path still leads to the file that was opened there."""
    try:
        return path.stat().st_ino == os.fstat(file.fileno()).st_ino
    except FileNotFoundError:
        return False


def _read(path: Path) -> dict[str, object]:
    """A JSON object, or an empty one for a file that is missing or is none."""
    try:
        value = json.loads(path.read_text())
    except (FileNotFoundError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
