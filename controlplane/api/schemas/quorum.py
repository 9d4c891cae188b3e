"""The quorum in the API's answers."""

from pydantic import Field

from controlplane.api.schemas.messages import Message


class QuorumMemberOut(Message):
    """A controller that votes, or follows and has no vote."""

    id: int
    node: str = Field(description="empty for a voter that is none of this cluster's controllers")
    directory_id: str
    votes: bool
    leads: bool
    lag: int = Field(description="records behind the leader")
    silent_s: float = Field(description="since it last asked the leader for records")


class RememberedOut(Message):
    """A controller that left. Kafka keeps its registration, and asks it before `metadata.version` is raised."""

    id: int
    node: str
    kafka_version: str


class QuorumOut(Message):
    """Of the last metadata that was read; `change` is the change of the voters in hand, in words."""

    members: list[QuorumMemberOut]
    remembered: list[RememberedOut] = Field(default=[])
    change: str = ""
    static: bool = Field(default=False, description="a quorum of others at kraft.version 0: its voters cannot change")
