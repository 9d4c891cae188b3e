"""What the HTTP API says of consumer groups; the rest of the contract is in `schemas`."""

from datetime import datetime

from pydantic import Field

from controlplane.api.schemas.messages import Message


class GroupMemberOut(Message):
    """One member, and how many partitions it was given."""

    id: str
    client: str
    host: str
    partitions: int
    unreadable: str = Field(
        "", description="why what it reads is not known: its client sent bytes that are none of the consumer protocol"
    )


class GroupPartitionOut(Message):
    """One partition of a group. `state`: Reading, NoOffset, Stuck, Unread, BeyondEnd, Rebalancing, NoMembers,
    NotSubscribed or Unknown."""

    topic: str
    partition: int
    state: str
    since: datetime
    member: str = Field(description="who reads it, empty for nobody")
    committed: int | None
    end: int | None
    lag: int | None = Field(description="records not read yet; null where that is not known, as with BeyondEnd")
    still_since: datetime | None = Field(description="since when its offset is known to stand still")


class GroupOut(Message):
    """One group in short. `word`: the worst of it: Stuck, Unread, BeyondEnd, NoMembers, Rebalancing, Unknown or
    Reading."""

    cluster: str
    name: str
    word: str
    state: str = Field(description="Kafka's own word")
    kind: str = Field(description="`classic`, or `consumer` for the protocol of KIP-848")
    coordinator: int
    members: int
    partitions: int
    lag: int | None
    trend_per_s: float | None = Field(description="records a second by which the lag grows; null before a second look")
    stuck: int
    unread: int


class LagPointOut(Message):
    """The lag of a group at one look."""

    at: datetime
    lag: int


class LastResetOut(Message):
    """Where people put its offsets last."""

    at: datetime
    words: str


class GroupDetailOut(Message):
    """One group, all of it."""

    group: GroupOut
    read_at: datetime
    members: list[GroupMemberOut]
    partitions: list[GroupPartitionOut]
    history: list[LagPointOut] = Field(
        default_factory=list,
        description="its lag at looks of the last 12 hours, oldest first; nothing of times nobody looked",
    )
    last_reset: LastResetOut | None = None


class GroupsOut(Message):
    """A page of the groups of a cluster, by name. `next` is given as `after` for the page behind it, "" at the end.

    `silent`: brokers that did not answer, whose groups are old or missing. `left_out`: more than one look reads.
    """

    cluster: str
    read_at: datetime
    groups: list[GroupOut]
    total: int
    next: str
    silent: list[int]
    left_out: int
