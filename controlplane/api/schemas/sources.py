"""Git sources in the API: how they stand, what is asked of them, and their forges."""

from datetime import datetime

from pydantic import Field

from controlplane.api.schemas.messages import Message
from controlplane.api.schemas.specs import ProblemOut


class ForgeOut(Message):
    """The forge behind a source, as this server's last call left it."""

    where: str = Field(description="which forge, which repository")
    commit: str = Field(default="", description="the commit that was told a status last")
    state: str = Field(default="", description="pending, success or failure")
    at: datetime | None = None
    reason: str = Field(default="", description="why the last call failed, a stable word; empty: it did not")
    fault: str = ""
    next_at: datetime | None = Field(default=None, description="when it is tried again")


class PullRequestOut(Message):
    """A pull (or merge) request that is open."""

    number: int
    url: str
    branch: str


class SourceIn(Message):
    """Hand a cluster's spec over: to `api`, or to `git:BINDING`."""

    source: str
    reason: str = ""


class AcceptIn(Message):
    """Accept a commit that does not descend from the one applied. The whole id, as `kedge sources` shows it."""

    commit: str
    reason: str = ""


class SourcePolledOut(Message):
    """Whether a look was asked for: only the leader looks."""

    source: str
    asked: bool
    sentence: str


class SourceOut(Message):
    """One git source as its last poll left it."""

    name: str
    source: str
    repository: str
    branch: str
    path: str
    team: str
    verbs: list[str]
    poll_s: float
    sync: str = Field(description="Synced, OutOfSync, Refused or Unknown")
    reason: str
    message: str
    next: str
    since: datetime | None
    last_poll: datetime | None
    last_reached: datetime | None = Field(description="when the repository last answered")
    commit: str = Field(description="the commit whose files were looked at last")
    tip: str = Field(description="the newest commit seen")
    author: str = Field(description="whom it names: claimed, unless `signed_by` says otherwise")
    signed_by: str = Field(default="", description="fingerprint of the author's listed key that signed the commit")
    claimed_because: str = Field(default="", description="why the author is merely claimed, where keys are listed")
    clusters: list[str]
    missing: list[str] = Field(description="clusters of this source without a file: they stay as they are")
    failovers: list[str] = Field(default_factory=list, description="pairs of clusters this source declares")
    failovers_missing: list[str] = Field(
        default_factory=list, description="pairs of this source without a file: they stay as they are"
    )
    problems: list[ProblemOut]
    forge: ForgeOut | None = Field(default=None, description="where the binding names one")
