"""The port to a forge: what Kedge says of commits there, and the pull requests it opens.

One contract suite runs over all implementations: tests/contract/test_forges.py.
"""

from dataclasses import dataclass
from typing import Literal, Protocol

from controlplane.runtime.call_errors import ASK_DIFFERENTLY, CallFault

State = Literal["pending", "success", "failure"]

CREDENTIAL_MISSING = "CredentialMissing"
AUTHENTICATION_FAILED = "AuthenticationFailed"
NOT_ALLOWED = "NotAllowed"
NOT_FOUND = "NotFound"
RATE_LIMITED = "RateLimited"
REFUSED = "Refused"
UNAVAILABLE = "Unavailable"
UNREACHABLE = "Unreachable"

_NEXT = {
    CREDENTIAL_MISSING: "Set the token of the forge for the server's process.",
    AUTHENTICATION_FAILED: "Renew the token of the forge.",
    NOT_ALLOWED: "Give the bot the rights named in docs/git.md.",
    NOT_FOUND: "Look at `project` of the forge; a repository that the token may not read looks the same.",
    RATE_LIMITED: "It is tried again when the forge allows it.",
    REFUSED: ASK_DIFFERENTLY,
    UNAVAILABLE: "It is tried again.",
    UNREACHABLE: "Look at the address of the forge. It is tried again.",
}


class ForgeFault(CallFault):
    """A call to a forge failed. `reason` is a stable word, `wait_s` how long the forge asked to be left alone."""

    def __init__(self, reason: str, *, what: str, where: str, why: str, wait_s: float = 0.0) -> None:
        super().__init__(what=what, where=where, why=why, next_step=_NEXT[reason])
        self.reason = reason
        self.wait_s = wait_s

    @property
    def is_passing(self) -> bool:
        """Whether it may go by itself; otherwise somebody has to do something."""
        return self.reason in (RATE_LIMITED, UNAVAILABLE, UNREACHABLE)


@dataclass(frozen=True, slots=True)
class CommitStatus:
    """What a commit page shows beside a commit, one for each `context`. `url` leads to more, "" nowhere."""

    state: State
    description: str
    context: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file as a pull request: `base` gets `text` at `path`, through a `branch` of its own.

    The commit names a person as its author; whoever commits and opens the request is the bot. `is_new`: the file is not
    there yet.
    """

    branch: str
    base: str
    path: str
    text: str
    title: str
    body: str
    author_name: str
    author_email: str
    is_new: bool


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull (or merge) request, open."""

    number: int
    url: str
    branch: str


class Forge(Protocol):
    """One repository on its forge. Every method raises ForgeFault, and takes seconds at most."""

    @property
    def where(self) -> str:
        """The forge and the repository, for messages."""

    @property
    def longest_description(self) -> int:
        """Characters a status may have."""

    def status(self, commit: str, context: str) -> CommitStatus | None:
        """The newest status of that context, None where there is none."""

    def post_status(self, commit: str, status: CommitStatus) -> None:
        """Posts it. Whoever posts the same again adds nothing a person sees."""

    def comments(self, commit: str) -> list[str]:
        """The texts of the comments on a commit, a hundred at most."""

    def comment(self, commit: str, text: str) -> None:
        """Adds one."""

    def read(self, path: str, ref: str) -> str | None:
        """A file as of a branch or commit, None where it is not there. At most 1 MiB."""

    def open_request(self, change: FileChange) -> PullRequest:
        """Commits to the change's branch and opens the request. Asked again with the same branch it is the same one."""

    def close(self) -> None:
        """Gives back connections; calls under way fail."""
