"""The base of requests and answers."""

from pydantic import BaseModel, ConfigDict


class Message(BaseModel):
    """Frozen, camelCase outside, no unknown keys in requests."""

    model_config = ConfigDict(frozen=True, extra="forbid")
