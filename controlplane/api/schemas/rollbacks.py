"""Going back to an earlier declaration, of a cluster or a topic, in the API."""

from datetime import datetime

from pydantic import Field

from controlplane.api.schemas.messages import Message
from controlplane.api.schemas.sources import PullRequestOut
from controlplane.api.schemas.specs import PlanOut, ProblemOut


class RollbackIn(Message):
    """Put the spec of a generation back. With `plan_digest`, only if the plan is still exactly that one."""

    to: int = Field(ge=1, description="the generation whose spec is wanted; of a topic the number of its declaration")
    reason: str = ""
    plan_digest: str | None = None
    dry_run: bool = False


class RollbackOut(Message):
    """What it would do, and what was done. With problems that are errors (`ok` is False) nothing was."""

    cluster: str
    topic: str = Field(default="", description="empty where the cluster itself goes back")
    generation: int = Field(description="of a topic the number of its declaration")
    way: str = Field(
        description="`apply`, `pull-request`, or `file` where its source is git and the binding names no forge"
    )
    source: str
    path: str = Field(default="", description="the file it goes into, where its source is git")
    text: str = Field(description="that file as it would be; `file`: the document alone")
    ok: bool
    problems: list[ProblemOut]
    plans: list[PlanOut]
    topics: list[str] = Field(default_factory=list, description="what would be declared of topics, a line each")
    digest: str
    reserved: list[str] = Field(default_factory=list, description="why a second person must approve")
    changed: bool = False
    proposal: str = Field(default="", description="id of the proposal it became: nothing is declared before a yes")
    request: PullRequestOut | None = None
    sentence: str = ""


class TopicDeclarationOut(Message):
    """One declaration of a topic. Its number never changes; `changes` are to the one before, in words."""

    number: int
    declared_at: datetime
    declared_by: str
    source: str
    path: str
    commit: str
    partitions: int
    replicas: int
    config: dict[str, str] | None = Field(description="null where it was adopted as found")
    tier: str
    in_force: bool
    changes: list[str]


class TopicDeclarationsOut(Message):
    """What was declared of a topic, the newest first."""

    cluster: str
    topic: str
    declarations: list[TopicDeclarationOut]
