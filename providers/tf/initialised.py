"""What `terraform init` made, once for every run it is the same for: nothing of a cluster is in it.

Runs share it through TF_DATA_DIR. Only `init` writes there, in the folder of its own run; one rename puts it where
others find it, so there is all of it or nothing, whatever is killed. Whoever uses it holds a shared lock of the kernel.
What may be damaged is marked, and left to those who use it; what nobody uses any more goes when the next one is kept.

Which providers were chosen, with their checksums, stays when all that goes: every later `init` is held to it.
"""

import errno
import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from providers.errors import TerraformFailed
from providers.tf.lock_files import ChosenProviders
from providers.tf.mirror import ProviderMirror
from providers.tf.states import TerraformState
from providers.tf.workspace import Workspace

_LOCK_FILE = ".terraform.lock.hcl"
"""Which providers were chosen. Terraform looks for it beside the configuration and refuses to plan without."""

_HELD = "The checksums are those of the first init, in {chosen} if other packages are meant."

_TRIES = 3
"""Of an `init` that others were faster than."""

_IN_USE, _DOUBTED = "in-use", "doubted"
"""Files of ours in it: the first is locked by its users, and when it was last used is its time of change."""

_OVERTAKEN = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT)
"""Another was kept under that number meanwhile, or the folder was empty and went."""

_UNUSED_S = 7 * 24 * 3600.0
"""An earlier release of Kedge or of Terraform may be what another server still runs; for so long its own is kept."""


@dataclass(frozen=True, slots=True)
class InUse:
    """A data directory that stays until its user is done. `doubt` it and the next run makes another."""

    data: Path

    def doubt(self) -> None:
        """It may be what made a run fail. Those who use it now go on with it."""
        with suppress(FileNotFoundError):
            (self.data / _DOUBTED).touch()


@dataclass(frozen=True, slots=True)
class Initialised:
    """`<directory>/<what it was made from>/<which try>/`, for all states of an installation on this machine.

    `chosen` are Terraform's lock files, by the cloud's pins, `mirror` where providers come from, if from one alone.
    """

    directory: Path
    chosen: ChosenProviders
    mirror: ProviderMirror | None = None

    @classmethod
    def of(cls, state: TerraformState) -> "Initialised":
        """What is shared with all other states of that one's root."""
        return cls(state.folder.initialised, state.chosen, state.mirror)

    @contextmanager
    def opened(self, workspace: Workspace, *, binary: str, plugins: str, init: Callable[[], object]) -> Iterator[InUse]:
        """The data directory for this workspace, until the end of the block. `init` makes it in the workspace.

        It is called where there is none that fits; two at once each make their own, and one is kept. `plugins` is
        where Terraform finds providers by itself: it makes links to there, and to a mirror. Raises what `init` does.
        """
        with ExitStack() as stack:
            sources = " ".join((plugins, self.mirror.place) if self.mirror else (plugins,))
            kept = self.directory / _made_from(workspace, binary, sources)
            data = _newest(kept, stack)
            if data is None:
                self._init(workspace, init)
                data = _keep(kept, workspace, stack)
                self._clear()
            elif (data / _LOCK_FILE).exists():
                shutil.copy2(data / _LOCK_FILE, workspace.directory)
                self.chosen.keep_first(workspace.pins, (data / _LOCK_FILE).read_bytes())
            yield InUse(data)

    def _init(self, workspace: Workspace, init: Callable[[], object]) -> None:
        """Terraform refuses a package other than the one first chosen, and adds what another platform needs."""
        pins, here = workspace.pins, workspace.directory / _LOCK_FILE
        for _ in range(_TRIES):
            held = self.chosen.read(pins)
            if held is not None:
                here.write_bytes(held)
            try:
                init()
            except TerraformFailed as error:
                if held is None or "lock file" not in str(error):
                    raise
                said, *_ = str(error).splitlines()
                told = _HELD.format(chosen=self.chosen.where(pins))
                raise TerraformFailed(said, [*error.diagnostics, told]) from None
            made = here.read_bytes() if here.exists() else held
            if made == held or made is None or self.chosen.keep(pins, made, instead_of=held):
                return
        raise TerraformFailed(f"terraform init was overtaken {_TRIES} times: other servers chose providers meanwhile")

    def _clear(self) -> None:
        """Delete what was doubted, or was for an earlier release, and is used by nobody."""
        before_s = time.time() - _UNUSED_S
        for data in self.directory.glob("*/*"):
            with ExitStack() as stack:
                if data.suffix != ".gone":
                    if not _is_over(data, before_s) or not _lock(data, stack, fcntl.LOCK_EX):
                        continue
                    data = data.rename(data.with_suffix(".gone"))  # first: half of it is never found
                shutil.rmtree(data, ignore_errors=True)
        for kept in self.directory.iterdir():
            with suppress(OSError):
                kept.rmdir()


def _newest(kept: Path, stack: ExitStack) -> Path | None:
    tries = _tries(kept)
    data = kept / str(tries[-1]) if tries else None
    if data is None or (data / _DOUBTED).exists() or not _lock(data, stack, fcntl.LOCK_SH):
        return None
    os.utime(data / _IN_USE)
    return data


def _keep(kept: Path, workspace: Workspace, stack: ExitStack) -> Path:
    """What `init` has just made in the workspace, for all; what another made meanwhile is as good."""
    made = workspace.directory / ".terraform"
    if (workspace.directory / _LOCK_FILE).exists():
        shutil.copy2(workspace.directory / _LOCK_FILE, made)
    (made / _IN_USE).touch()
    _lock(made, stack, fcntl.LOCK_SH)
    while True:
        # The number before the look: whoever keeps one after the look takes that number, and is seen the next time.
        mine = kept / str(1 + max(_tries(kept), default=-1))
        if (another := _newest(kept, stack)) is not None:
            return another
        for folder in (kept.parent, kept):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            return made.rename(mine)
        except OSError as error:
            if error.errno not in _OVERTAKEN:
                raise


def _tries(kept: Path) -> list[int]:
    return sorted(int(path.name) for path in kept.glob("*") if path.name.isdigit())


def _is_over(data: Path, before_s: float) -> bool:
    try:
        return (data / _DOUBTED).exists() or (data / _IN_USE).stat().st_mtime < before_s
    except FileNotFoundError:
        return False  # it went


def _lock(data: Path, stack: ExitStack, kind: int) -> bool:
    """Takes the lock until the stack ends. False where somebody else has it otherwise, or it was deleted meanwhile."""
    path = data / _IN_USE
    try:
        file = stack.enter_context(path.open("rb"))
        fcntl.flock(file, kind | fcntl.LOCK_NB)
        return os.fstat(file.fileno()).st_ino == path.stat().st_ino
    except (FileNotFoundError, BlockingIOError):
        return False


def _made_from(workspace: Workspace, binary: str, sources: str) -> str:
    program = os.path.realpath(shutil.which(binary) or binary)
    about = os.stat(program)
    made_from = f"{workspace.fingerprint} {sources} {program} {about.st_size} {about.st_mtime_ns}"
    return hashlib.sha256(made_from.encode()).hexdigest()[:32]
