"""Going back to an earlier declaration, in the API."""

from pydantic import Field

from controlplane.portal.schemas import Message, PlanOut, ProblemOut
from controlplane.portal.sourceschemas import PullRequestOut


class RollbackIn(Message):
    """Put the spec of a generation back. With `plan_digest`, only if the plan is still exactly that one."""

    to: int = Field(ge=1, description="the generation whose spec is wanted")
    reason: str = ""
    plan_digest: str | None = None
    dry_run: bool = False


class RollbackOut(Message):
    """What it would do, and what was done. With problems that are errors (`ok` is False) nothing was."""

    cluster: str
    generation: int
    way: str = Field(
        description="`apply`, `pull-request`, or `file` where its source is git and the binding names no forge"
    )
    source: str
    path: str = Field(default="", description="the file it goes into, where its source is git")
    text: str = Field(description="that file as it would be; `file`: the document alone")
    ok: bool
    problems: list[ProblemOut]
    plans: list[PlanOut]
    digest: str
    reserved: list[str] = Field(default_factory=list, description="why a second person has to agree")
    changed: bool = False
    proposal: str = Field(default="", description="id of the proposal it became: nothing is declared before a yes")
    request: PullRequestOut | None = None
    sentence: str = ""
