"""What the API says of a cluster as it was."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field


class PastOut(BaseModel):
    """That an answer is of the past."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    position: int = Field(description="global position up to which it is told")
    at: datetime = Field(description="when that position was recorded; ages are as of then")
    placement: str = Field(description="what is known of the replicas of then")
