"""A spec file as a pull request, in the API."""

from pydantic import Field

from controlplane.api.schemas.messages import Message
from controlplane.api.schemas.sources import PullRequestOut
from controlplane.api.schemas.specs import PlanOut, ProblemOut, SpecIn


class SpecRequestIn(SpecIn):
    """Have a spec file become a pull request in one's own name: new things as a file of their own, one that is there in
    the file it is declared in. With `plan_digest`, only if the plan is still exactly that one."""

    source: str = Field(default="", max_length=200, description="binding of the git source; empty: the one that fits")
    plan_digest: str | None = None
    dry_run: bool = False


class SpecRequestOut(Message):
    """What it would do once it is merged, and the request. With errors in the file (`ok` is False) there is none."""

    ok: bool
    problems: list[ProblemOut]
    plans: list[PlanOut]
    topics: list[str] = Field(description="what would be declared of topics, a line each")
    digest: str
    source: str = Field(description="binding it goes to; empty where it goes nowhere")
    path: str = Field(description="the file that is changed; empty for a new one")
    request: PullRequestOut | None = None
    sentence: str = ""
