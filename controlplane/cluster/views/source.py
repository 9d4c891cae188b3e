"""Where the spec of a cluster comes from: a file of a git source at a commit, or the API."""

from dataclasses import dataclass, replace
from datetime import datetime

API = "api"


@dataclass(frozen=True, slots=True)
class SpecOrigin:
    """The address of a file in git at one commit. `author` is whom the commit names.

    `signed_by` is the fingerprint of the listed key of theirs that signed it, "" where nobody checked that name.
    """

    source: str
    repository: str
    branch: str
    path: str
    commit: str
    author: str
    signed_by: str = ""

    def is_same_file(self, other: "SpecOrigin") -> bool:
        """Whether both are one file of one branch, whatever the commit."""
        blank = {"commit": "", "author": "", "signed_by": ""}
        return replace(self, **blank) == replace(other, **blank)


@dataclass(frozen=True, slots=True)
class SpecSource:
    """Who may change the spec of a cluster. `taken` is the stream version at which it came to this source."""

    origin: SpecOrigin
    since: datetime
    taken: int

    @property
    def name(self) -> str:
        return self.origin.source

    @property
    def is_git(self) -> bool:
        return self.origin.source != API

    @property
    def address(self) -> str:
        """Where a person changes it, in words."""
        origin = self.origin
        if not origin.path:
            return f"`{origin.source}` (its file was not found yet)"
        return f"`{origin.source}`: {origin.path} in {origin.repository}, branch {origin.branch}, {origin.commit[:7]}"
