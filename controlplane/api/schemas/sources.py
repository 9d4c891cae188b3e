"""Git sources in the API beside SourceOut: what is asked of them, and their forges."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ForgeOut(_Message):
    """The forge behind a source, as this server's last call left it."""

    where: str = Field(description="which forge, which repository")
    commit: str = Field(default="", description="the commit that was told a status last")
    state: str = Field(default="", description="pending, success or failure")
    at: datetime | None = None
    reason: str = Field(default="", description="why the last call failed, a stable word; empty: it did not")
    fault: str = ""
    next_at: datetime | None = Field(default=None, description="when it is tried again")


class PullRequestOut(_Message):
    """A pull (or merge) request that is open."""

    number: int
    url: str
    branch: str


class SourceIn(_Message):
    """Hand a cluster's spec over: to `api`, or to `git:BINDING`."""

    source: str
    reason: str = ""


class AcceptIn(_Message):
    """Accept a commit that does not descend from the one applied. The whole id, as `kedge sources` shows it."""

    commit: str
    reason: str = ""


class SourcePolledOut(_Message):
    """Whether a look was asked for: only the leader looks."""

    source: str
    asked: bool
    sentence: str
