"""States as local files: where each lies, who may touch it, and how it survives what killed a run."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from providers.base import Place
from providers.errors import StateUnreadable
from providers.tf import lock_files, run_folder, state_body, states
from providers.tf.mirror import ProviderMirror

_STATE = Path(states.STATE_PATH).name


@dataclass(frozen=True, slots=True)
class LocalStates:
    """A `StateStorage` below a folder of the home. One host: the kernel's lock on a file keeps two runs apart."""

    root: Path
    mirror: ProviderMirror | None = None

    @property
    def chosen(self) -> lock_files.ChosenInFiles:
        """Lock files of all of them."""
        return lock_files.ChosenInFiles(self.root.absolute() / "providers")

    def of(self, key: states.StateKey) -> "StatePaths":
        return StatePaths(self.root.absolute() / key.cluster_uid / key.place, self.mirror)

    def keys(self) -> tuple[states.StateKey, ...]:
        return tuple(
            states.StateKey(p.parent.parent.name, p.parent.name) for p in sorted(self.root.glob(f"*/*/{_STATE}"))
        )


@dataclass(frozen=True, slots=True)
class StatePaths:
    """A `TerraformState` in paths below `<state root>/<cluster uid>/<cloud>.<account>.<region>/`."""

    directory: Path
    mirror: ProviderMirror | None = None
    """See TerraformState."""

    @property
    def folder(self) -> run_folder.RunFolder:
        return run_folder.RunFolder(self.directory)

    @property
    def chosen(self) -> lock_files.ChosenInFiles:
        return LocalStates(self.directory.parents[1]).chosen

    @property
    def path(self) -> Path:
        return self.directory / _STATE

    @contextmanager
    def locked(self, run_id: str, *, on_lost: Callable[[], object] | None = None) -> Iterator[states.StateAccess]:
        """See TerraformState. Never lost: the kernel holds the lock for as long as we live."""
        with self.folder.locked(run_id):
            try:
                yield states.StateAccess(states.IN_A_FILE, folder=self.directory)
            finally:
                # Terraform's own copy, of each state before the last write; ours is of the one before the run.
                self.path.with_name(f"{_STATE}.backup").unlink(missing_ok=True)

    def read(self) -> bytes | None:
        body = _bytes(self.path)
        if not body:
            return None
        if not state_body.is_state(body):
            raise StateUnreadable(f"{self.path} is not a whole state")
        return body

    def write(self, body: bytes) -> None:
        """See TerraformState. Whole or not at all: a kill in the middle leaves the version before."""
        state_body.refuse_unless_state(body)
        kept = self.read()
        if kept == body:
            return
        if kept is not None:
            state_body.refuse_unless_later(body, serial=state_body.serial_of(kept), lineage=state_body.lineage_of(kept))
        temporary = self.path.with_suffix(".tmp")
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        temporary.rename(self.path)

    def keep_copy(self) -> None:
        """See TerraformState. Terraform writes in place, and a kill in the middle leaves half a file.

        A state that does not exist yet is kept as an empty copy.
        """
        temporary = self._copy.with_suffix(".tmp")
        temporary.write_bytes(_bytes(self.path))
        temporary.chmod(0o600)
        temporary.rename(self._copy)

    def repair(self) -> bool:
        """Put the copy back if the state is unreadable; True when it did.

        What the killed run did since then is not in the copy; the same run does it again and, its acts being
        idempotent, adopts it. Raises `StateUnreadable` without a copy.
        """
        if not self.path.exists() or state_body.is_state(_bytes(self.path)):
            return False
        if not self._copy.exists() or not (state_body.is_state(_bytes(self._copy)) or not _bytes(self._copy)):
            raise StateUnreadable(f"{self.path} is not a state file and there is no earlier copy of it")
        temporary = self.path.with_suffix(".tmp")
        shutil.copy2(self._copy, temporary)
        temporary.rename(self.path)
        return True

    def targets(self) -> frozenset[str]:
        """What the state holds, as `<resource>/<key>`; empty for one that was never written, or is unreadable."""
        return state_body.targets_in(_bytes(self.path))

    def set_aside(self, name: str) -> bool:
        """See TerraformState. Its copy and what its runs left go with it."""
        there = [path for path in (self.path, self._copy, self.folder.workspaces) if path.exists()]
        for path in there:
            path.rename(path.with_name(f"{path.name}.{name}"))
        return bool(there)

    @property
    def _copy(self) -> Path:
        return self.directory / f"{_STATE}.before"


def state_file(root: Path, cluster_uid: str, place: Place) -> StatePaths:
    """The state of a cluster in a place. `root` is the state root of the installation."""
    return LocalStates(root).of(states.state_key(cluster_uid, place))


def _bytes(path: Path) -> bytes:
    """Empty for a file that does not exist, which Terraform itself takes for an empty state."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
