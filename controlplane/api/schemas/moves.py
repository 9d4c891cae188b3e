"""What the HTTP API says and takes of drains and rebalances before they begin."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from controlplane.api.schemas.messages import Message

Throttle = Field(default=0, ge=0, le=100_000, description="MiB/s a broker each way under the spec's own; 0: no other")
Digest = Field(
    default="",
    max_length=100,
    description="of the plan that was looked at: refused with 409 `plan-moved` once that is not the plan any more",
)
Targets: list[int] = Field(
    default_factory=list, max_length=1000, description="ids of the brokers that alone receive; none: all"
)


Goals: list[str] = Field(
    default_factory=list, max_length=32, description="names of docs/goals.md, the first weighs most; none: the spec's"
)
ExcludeTopics: list[str] = Field(
    default_factory=list, max_length=1000, description="full names: these stay where they are; none: the spec's"
)
ExcludeBrokers: list[int] = Field(
    default_factory=list, max_length=1000, description="ids: these receive nothing; none: the spec's"
)


class EvacuateIn(Message):
    """Empty these brokers and keep them empty. Without `targets` every other broker may take what they hold."""

    brokers: list[int] = Field(min_length=1)
    reason: str = ""
    targets: list[int] = Targets
    throttle_mib_per_s: int = Throttle
    digest: str = Digest


class MovesPlanIn(Message):
    """What would move: to empty `brokers`, or to spread replicas anew."""

    kind: Literal["drain", "rebalance"]
    brokers: list[int] = Field(default_factory=list, max_length=1000, description="to empty; none for a rebalance")
    targets: list[int] = Targets
    per_day_gib: int | None = Field(default=None, ge=1, le=1_000_000)
    throttle_mib_per_s: int = Throttle
    goals: list[str] = Goals
    exclude_topics: list[str] = ExcludeTopics
    exclude_brokers: list[int] = ExcludeBrokers


class PlannedMoveOut(Message):
    """One partition: its replicas before and after, in order."""

    topic: str
    partition: int
    before: list[int]
    after: list[int]
    copied_bytes: int


class PlannedMovesOut(Message):
    """All of it counted; `moves` are the largest."""

    seconds: float
    copied_bytes: int
    total_moves: int
    moves: list[PlannedMoveOut]
    certificate: list[list[str]] = Field(description="measure, value, lower bound, ratio; none for a rebalance")
    goals: list[list[str]] = Field(
        default_factory=list,
        description="of a rebalance: goal, before, after, band, out of band before -> after, what stands in its way",
    )
    assumptions: list[str]
    shortfall: str = Field(description="why it is done in part only, empty where all goals are met")


class MovesPlanOut(Message):
    """What would come of it now. `digest` binds a yes to it: sent along, it is void once something has moved."""

    cluster: str
    changes: bool
    sentence: str
    digest: str = Field(description="empty while this server has not read the cluster's Kafka")
    metadata_at: datetime | None
    no_plan: str = Field(description="why there is no plan to show, empty where there is")
    plan: PlannedMovesOut | None
