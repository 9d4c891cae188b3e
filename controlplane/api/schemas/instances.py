"""What the API says of one VM: its services, what its agent found, its console."""

from datetime import datetime

from pydantic import Field

from controlplane.api.schemas.messages import Message


class FindingOut(Message):
    """What the agent of a VM found wrong inside a service that still runs."""

    __module__ = "controlplane.api.schemas.clusters"  # part of its name in the OpenAPI document: doctor has one as well

    name: str
    since: datetime
    message: str
    numbers: dict[str, float] = Field(default={})


class BesideOut(Message):
    """The ZooKeeper server that shares a broker's VM."""

    service_id: int
    votes: bool = Field(description="whether it takes part in the ensemble, as recorded")
    reported_state: str = Field(description="what the agent last said of it, empty when it has not spoken")
    reported_message: str = Field(default="", description="why, in the agent's words")


class InstanceOut(Message):
    """One VM. `phase` as in `controlplane.cluster.lifecycle.Phase`."""

    key: str
    node: str
    generation: int
    pool: str
    rack: str
    service: str
    service_id: int
    kafka_version: str
    shape: str
    spot: bool = False
    ipv6: bool = False
    public_address: bool = False
    phase: str
    since: datetime
    address: str
    cloud_id: str
    lost: bool
    replaces: str
    reported_state: str = Field(description="what the agent last said of the service, empty when it has not spoken")
    reported_message: str = Field(default="", description="why, in the agent's words")
    report_age_s: float | None
    kafka_state: str = Field(
        default="",
        description="of a broker, by the last metadata: serves, fenced or absent; empty where it is old or unread",
    )
    asked: str = Field(default="", description="what a person asked for it and is not done, and why")
    credential_since: datetime | None = Field(
        default=None, description="when the agent's credential came into force, None before it has enrolled"
    )
    credential_overdue: bool = Field(
        default=False, description="the agent was asked to rotate its credential long ago and has not"
    )
    uncertified: bool = Field(
        default=False,
        description="agents are asked for certificates, and its agent has shown none: its credential is enough yet",
    )
    certificate_ends_at: datetime | None = Field(
        default=None,
        description="of the certificate its agent showed last; null: none was shown to a server that keeps it",
    )
    outdated_credential_at: datetime | None = Field(
        default=None, description="when somebody last showed a credential the agent had let go of: a copy may exist"
    )
    findings: list[FindingOut] = Field(default=[], description="what is wrong inside the service, by its agent's word")
    beside: BesideOut | None = Field(default=None, description="absent: the VM has one service")


class ConsoleOut(Message):
    """What a VM that never joined wrote to its console, as its cloud kept it. Secrets are cut out."""

    node: str
    key: str
    at: datetime
    text: str = Field(description="with a cluster its last lines, asked for by its node the last 64 KiB")
    why: str = Field(default="", description="why there is no text")
