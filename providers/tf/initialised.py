"""What `terraform init` made, kept between the runs of one state: it changes only with what it was made from.

Runs share it through TF_DATA_DIR. Only `init` writes there, and the lock of the state lets one run at a time.
"""

import hashlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from providers.tf.workspace import Workspace

_LOCK_FILE = ".terraform.lock.hcl"
"""Which providers were chosen. Terraform looks for it beside the configuration and refuses to plan without."""


@dataclass(frozen=True, slots=True)
class Initialised:
    """The folder of one state; it holds what the last `init` made, under a name that says from what."""

    directory: Path

    def take(self, workspace: Workspace, *, binary: str) -> Path | None:
        """The data directory for this workspace, None when there is none that fits."""
        kept = self.directory / _name(workspace, binary)
        if not kept.is_dir():
            return None
        if (kept / _LOCK_FILE).exists():
            shutil.copy2(kept / _LOCK_FILE, workspace.directory)
        return kept

    def keep(self, workspace: Workspace, *, binary: str) -> Path:
        """Keep what `init` has just made in the workspace, in the place of everything older. Returns where it is."""
        made = workspace.directory / ".terraform"
        if (workspace.directory / _LOCK_FILE).exists():
            shutil.copy2(workspace.directory / _LOCK_FILE, made)
        self.drop()
        self.directory.mkdir(parents=True, mode=0o700)
        # One rename: there is all of it or nothing, whatever is killed here.
        return made.rename(self.directory / _name(workspace, binary))

    def drop(self) -> None:
        """The next run begins with an `init`: what is kept may be what made this one fail."""
        shutil.rmtree(self.directory, ignore_errors=True)


def _name(workspace: Workspace, binary: str) -> str:
    program = os.path.realpath(shutil.which(binary) or binary)
    about = os.stat(program)
    made_from = f"{workspace.fingerprint} {program} {about.st_size} {about.st_mtime_ns}"
    return hashlib.sha256(made_from.encode()).hexdigest()[:32]
