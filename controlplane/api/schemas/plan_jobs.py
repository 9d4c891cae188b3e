"""What the API says of plans that are made on Spark, and of those that are not."""

from datetime import datetime

from pydantic import Field

from controlplane.api.schemas.messages import Message


class PlanJobOut(Message):
    """One Spark job: the plans of clusters that needed one at about the same time."""

    at: datetime
    drains: int
    rebalances: int
    partitions: int = Field(description="of all its clusters")
    seconds: float
    refused: int = Field(description="clusters that got no plan of it that may be used")
    error: str = Field(description='why it gave no answer; "" where it did')


class PlanJobsOut(Message):
    """Since the server began."""

    required: bool = Field(description="whether plans have to be Spark's (`planner.require_spark`)")
    jobs: int
    failed: int
    clusters: int = Field(description="in all of those jobs")
    most: int = Field(description="clusters in the largest of them")
    last: PlanJobOut | None
    in_process: dict[str, int] = Field(
        description="plans the server made itself, by why Spark made none: `not ready`, `job failed`, `timeout`, "
        "`lost` with its worker, `refused`"
    )
