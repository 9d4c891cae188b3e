"""The state of one cluster in one place: where it lies, who may touch it, and how it survives what killed a
run.

Local files. One lock per (cluster, place) held by the kernel for as long as our process lives, and a record
of the run itself: Terraform's processes carry the run's id in their environment, so whether an earlier run is
over is a question to the process table, not to a clock.
"""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from providers import process
from providers.base import Place
from providers.errors import RunInProgress, StateUnreadable
from providers.tf.address import target_of

RUN_ID = "KEDGE_TERRAFORM_RUN"
"""Environment variable of every process of a run: Terraform, its plugins, its provisioners (never a VM)."""

_EARLIER_RUN_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class StateFile:
    """Paths below `<state root>/<cluster uid>/<cloud>.<account>.<region>/`."""

    directory: Path

    @property
    def path(self) -> Path:
        return self.directory / "terraform.tfstate"

    @property
    def workspaces(self) -> Path:
        return self.directory / "runs"

    @property
    def initialised(self) -> Path:
        return self.directory / "initialised"

    @contextmanager
    def locked(self, run_id: str) -> Iterator[None]:
        """Hold the state for one run. Raises `RunInProgress` while another run, or what is left of one, is alive."""
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self._lock.open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RunInProgress(f"another run holds {self.directory}: {self._owner()}") from None
            if earlier := _read(self._owner_file).get("run"):
                self._end(str(earlier))
            self._owner_file.write_text(json.dumps({"run": run_id, "pid": os.getpid()}))
            try:
                yield
            finally:
                self._end(run_id)

    def keep_copy(self) -> None:
        """Before a run writes: Terraform writes its state in place, and a kill in the middle leaves half a file.

        A state that does not exist yet is kept as an empty copy.
        """
        temporary = self._copy.with_suffix(".tmp")
        temporary.write_bytes(self.path.read_bytes() if self.path.exists() else b"")
        temporary.chmod(0o600)
        temporary.rename(self._copy)

    def repair(self) -> bool:
        """Put the copy back if the state is unreadable; True when it did.

        What the killed run did since then is not in the copy; the same run does it again and, its acts being
        idempotent, adopts it. Raises `StateUnreadable` without a copy.
        """
        if not self.path.exists() or _is_state(self.path):
            return False
        if not self._copy.exists() or not (_is_state(self._copy) or _is_empty(self._copy)):
            raise StateUnreadable(f"{self.path} is no state file and there is no earlier copy of it")
        temporary = self.path.with_suffix(".tmp")
        shutil.copy2(self._copy, temporary)
        temporary.rename(self.path)
        return True

    def targets(self) -> frozenset[str]:
        """What the state holds, as `<resource>/<key>`; empty for a state that was never written.

        Read from the file itself (format 4), because asking Terraform takes a workspace and seconds.
        """
        found = _read(self.path).get("resources")
        resources = [r for r in found if isinstance(r, dict)] if isinstance(found, list) else []
        return frozenset(
            target_of(address=str(resource.get("name")), name=str(resource.get("name")), key=instance.get("index_key"))
            for resource in resources
            if resource.get("mode") == "managed"
            for instance in resource.get("instances", [])
        )

    def set_aside(self, name: str) -> bool:
        """Renames the state, so that the next run begins with none; True when there was one. Nothing is deleted."""
        there = [path for path in (self.path, self._copy, self.workspaces) if path.exists()]
        for path in there:
            path.rename(path.with_name(f"{path.name}.{name}"))
        return bool(there)

    def left_behind(self) -> tuple[Path, ...]:
        """States Terraform could not write (`errored.tfstate`) and that are newer than ours, oldest first."""
        found = sorted(self.workspaces.glob("*/errored.tfstate"), key=_serial)
        return tuple(path for path in found if _serial(path) > _serial(self.path))

    def clear_workspaces(self, *, keep: Path) -> None:
        """Remove what earlier runs left, once their states are pushed; `keep` is the workspace of this run."""
        for directory in self.workspaces.glob("*"):
            if directory != keep:
                shutil.rmtree(directory)

    def _end(self, run_id: str) -> None:
        """The lock is ours, so nobody waits for that run any more; make sure its processes are gone, too."""

        def nothing_left() -> bool:
            found = _members(run_id)
            process.kill_all(found)
            return not found

        if not process.wait_until(nothing_left, timeout_s=_EARLIER_RUN_TIMEOUT_S):
            raise RunInProgress(f"processes {_members(run_id)} of run {run_id} do not end")
        # The kernel freed Terraform's own lock with the process; its note of who held it says nothing any more.
        (self.directory / ".terraform.tfstate.lock.info").unlink(missing_ok=True)
        self._owner_file.unlink(missing_ok=True)

    def _owner(self) -> str:
        owner = _read(self._owner_file)
        return f"run {owner.get('run')} of process {owner.get('pid')}" if owner else "it is just starting"

    @property
    def _lock(self) -> Path:
        return self.directory / "run.lock"

    @property
    def _owner_file(self) -> Path:
        return self.directory / "run.json"

    @property
    def _copy(self) -> Path:
        return self.directory / "terraform.tfstate.before"


def state_file(root: Path, cluster_uid: str, place: Place) -> StateFile:
    """The state of a cluster in a place. `root` is the state root of the installation."""
    return StateFile(root.absolute() / cluster_uid / f"{place.cloud}.{place.account}.{place.region}")


def _members(run_id: str) -> tuple[int, ...]:
    return tuple(pid for pid, value in process.carrying(RUN_ID).items() if value == run_id and pid != os.getpid())


def _is_state(path: Path) -> bool:
    return "lineage" in _read(path)


def _is_empty(path: Path) -> bool:
    """Nothing written yet, which Terraform itself takes for an empty state."""
    return path.stat().st_size == 0


def _serial(path: Path) -> int:
    serial = _read(path).get("serial")
    return serial if isinstance(serial, int) else -1


def _read(path: Path) -> dict[str, object]:
    """A JSON object, or an empty one for a file that is missing or is none."""
    try:
        value = json.loads(path.read_text())
    except (FileNotFoundError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
