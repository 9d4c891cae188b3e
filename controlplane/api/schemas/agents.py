"""What the API says of the agents VMs are to run, and takes for it."""

from datetime import datetime
from typing import Annotated

from pydantic import AnyHttpUrl, Field, StringConstraints

from controlplane.api.schemas.images import Line, Sha256
from controlplane.api.schemas.messages import Message

AgentVersion = Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z][0-9A-Za-z.+_-]{0,60}$")]
Platform = Annotated[str, StringConstraints(pattern=r"^cp[0-9]{2,4}-[a-z0-9_]{1,20}$")]


class AgentBuildIn(Message):
    """An archive on your mirror, as `kedge agent-bundle` writes it, for one Python and processor."""

    platform: Platform
    url: AnyHttpUrl
    sha256: Sha256
    size_bytes: int = Field(gt=0, le=1024 * 1024 * 1024)


class AgentReleaseIn(Message):
    """A version of the agent that every VM is to run."""

    version: AgentVersion
    builds: list[AgentBuildIn] = Field(min_length=1, max_length=20)
    notes: Line = ""


class AgentReasonIn(Message):
    """Why."""

    reason: Line = ""


class AgentSaidOut(Message):
    """What happens now, in a sentence."""

    sentence: str


class AgentReleaseOut(Message):
    """One version. `withdrawn` says why no VM is to run it."""

    version: str
    published_at: datetime
    published_by: str
    platforms: list[str]
    public_key: str
    notes: str
    withdrawn: str


class AgentVmOut(Message):
    """The agent of one VM. `state`: current, behind, asked, failed, unable (it cannot be upgraded) or silent."""

    key: str
    version: str
    state: str
    why: str


class AgentClusterOut(Message):
    """The VMs of one cluster; `waits` says why none of them is upgraded now."""

    name: str
    stage: str
    waits: str
    vms: list[AgentVmOut]


class AgentsOut(Message):
    """All versions, the newest first; `wanted` is what every VM is to run, "" for what it has."""

    wanted: str
    waits: str
    releases: list[AgentReleaseOut]
    clusters: list[AgentClusterOut]


class AcceptedOut(Message):
    """Whether what an agent sent was news."""

    accepted: bool
