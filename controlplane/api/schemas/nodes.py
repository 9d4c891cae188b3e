"""What the HTTP API says and takes of single nodes and of rolls; the rest of the contract is in `schemas`."""

from datetime import datetime

from pydantic import Field

from controlplane.api.schemas.conditions import RebalanceOut
from controlplane.api.schemas.messages import Message
from controlplane.api.schemas.moves import Digest, ExcludeBrokers, ExcludeTopics, Goals, Targets, Throttle
from controlplane.api.schemas.past import PastOut


class RestartIn(Message):
    """Start services anew, one at a time: of these brokers, of this pool, or all. `reason` is recorded."""

    reason: str = ""
    brokers: list[int] = Field(default_factory=list)
    pool: str = ""


class RebalanceIn(Message):
    """Spread replicas and leaders anew over the brokers; only `targets` receive where any are named, the others give.
    `reason` is recorded.
    """

    reason: str = ""
    targets: list[int] = Targets
    per_day_gib: int | None = Field(
        default=None, ge=1, le=1_000_000, description="GiB that may begin to copy in 24 hours; without it no such limit"
    )
    throttle_mib_per_s: int = Throttle
    goals: list[str] = Goals
    exclude_topics: list[str] = ExcludeTopics
    exclude_brokers: list[int] = ExcludeBrokers
    digest: str = Digest


class CancelRebalanceIn(Message):
    """Begin no more of the rebalance in hand: what runs ends, what was moved stays."""

    reason: str = ""


class ReplaceIn(Message):
    """Give one node its next VM: exactly one of `broker` (its id) and `node` is named."""

    reason: str = ""
    broker: int | None = None
    node: str = ""
    new_disk: bool = Field(default=False, description="the disk goes too, where the policy would hand it over")
    disks: list[str] = Field(
        default_factory=list,
        description="of a broker's log directories these alone begin anew; its id and its other disks pass on",
    )


class RollStageOut(Message):
    """One stage of a step. `state`: waiting, active, done or failed."""

    name: str
    state: str
    began_at: datetime | None
    seconds: float | None = Field(description="how long it took, or has taken so far")


class RollStepOut(Message):
    """One node's part. `state`: waiting, active, failed or done."""

    node: str
    change: str = Field(description="create, replace, remove, restart, evacuate, hand over or finalise")
    state: str
    reason: str
    since: datetime | None = Field(description="when that state began, None where it waits")
    stages: list[RollStageOut]
    phase: str = Field(default="", description="the phase it waits in; empty once it has begun")
    parallel: bool = Field(default=False, description="whether the steps of that phase are treated at once")
    left_s: float | None = Field(default=None, description="estimated seconds of a step that waits")


class RollOut(Message):
    """One roll of a cluster, from its start to its end, as the events have it.

    `state`: waiting, running, done, aborted, or superseded by the next one.
    """

    number: int = Field(default=0, description="counted from the first of the cluster; it never changes")
    generation: int
    state: str
    reason: str
    asked_by: str = Field(description="who did last what it follows from: person:NAME or git:BINDING")
    began_at: datetime | None
    ended_at: datetime | None
    done: int
    replaced: int = Field(default=0, description="nodes it made a new VM for, or took away, so far")
    moved_bytes: int = Field(default=0, description="what its drains had to copy, as far as their batches began")
    steps: list[RollStepOut]


class RollsOut(Message):
    """The rolls of a cluster, the newest first. `sentence` is what the last tick said of the one in hand."""

    cluster: str
    sentence: str
    rolls: list[RollOut]
    rebalance: RebalanceOut | None = Field(default=None, description="the rebalance in hand, which is no roll")
    total: int = Field(description="how many there were, ever")
    past: PastOut | None = Field(default=None, description="set where these are the rolls as they were")


class BrokersIn(Message):
    """A command about these brokers, with its reason."""

    brokers: list[int] = Field(min_length=1)
    reason: str = ""


class FixOfflineIn(Message):
    """Give up these brokers, which do not serve, or what is in log directories of theirs that are offline, and make
    those replicas anew on others."""

    brokers: list[int] = Field(min_length=1)
    reason: str = ""
    dry_run: bool = Field(default=False, description="only say what would come of it; nothing is recorded")


class EmptyDiskIn(Message):
    """Move what is in one log directory of a broker onto its others."""

    broker: int
    disk: str = Field(min_length=1, max_length=4096, description="the directory's path, or the name of its volume")
    reason: str = ""
    dry_run: bool = Field(default=False, description="only say what would come of it; nothing is recorded")


class EvenDisksIn(Message):
    """Move replicas between the log directories of a broker until its disks are even."""

    broker: int
    reason: str = ""
    dry_run: bool = Field(default=False, description="only say what would come of it; nothing is recorded")


class CancelDiskMovesIn(Message):
    """What moves between the disks of this broker ends, nothing more begins."""

    broker: int
    reason: str = ""


class BlockingPartitionOut(Message):
    """A partition that stands in the way of a restart."""

    topic: str
    partition: int
    isr: list[int]
    replicas: list[int]
    min_isr: int
    why: str


class RestartSafetyOut(Message):
    """Whether one service may be started anew now. The same question is asked before every restart."""

    key: str
    service: str
    service_id: int
    rack: str
    safe: bool
    reason: str
    waits_for: str = Field(description="reason of `Blocked` it would be, empty when nothing is in the way")
    blocking: list[BlockingPartitionOut]
    next: str = Field(description="what a person can do where waiting does not help")


class RestartCheckOut(Message):
    """The answer for each service, by metadata of this age. No answer is possible without metadata."""

    cluster: str
    metadata_age_s: float
    services: list[RestartSafetyOut]
