"""The port to a repository: its tip, the files of a commit, their bytes. Nothing is ever checked out."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from controlplane.background.git_sync.signing import CLAIMED, Signature

LINK = "120000"
"""The mode of a symbolic link."""


@dataclass(frozen=True, slots=True)
class Tip:
    """The newest commit of the branch. `author` is what the commit says of itself, `signature` who stands behind that.

    `descends`: the commit asked about is among its ancestors, or is it; True when none was asked about.
    """

    commit: str
    author: str
    descends: bool
    signature: Signature = CLAIMED


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One entry of a commit's tree. `mode` as git has it: 100644, 100755, 120000 (link), 160000 (submodule).

    `leads_to`: what a link ends at inside the commit, `blob` (a file) or `tree` (a folder); "" where it leads out of
    it, to nothing, or nobody looked.
    """

    path: str
    mode: str
    blob: str
    size: int
    leads_to: str = ""


class Repository(Protocol):
    """One branch of one repository. Every method raises SourceFault and Stopped."""

    def tip(self, since: str | None) -> Tip:
        """Asks for the newest commit, and brings its files here. `since` is the commit applied last."""

    def entries(self, commit: str) -> list[TreeEntry]:
        """What lies under the binding's folder, by path. Empty when there is no such folder."""

    def contents(self, blobs: Iterable[str]) -> Mapping[str, bytes]:
        """The bytes of blobs that `entries` named."""
