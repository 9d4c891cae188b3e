"""What every message of the API is made of, and how an error is said. The schemas are the one contract between the
server and every way in (CLI, portal, scripts).
"""

from pydantic import BaseModel, ConfigDict, Field

API_PREFIX = "/v1"


class Message(BaseModel):
    """Base of requests and answers: frozen, camelCase outside, no unknown keys in requests."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ErrorOut(Message):
    """application/problem+json: what, where, why, what next."""

    title: str
    status: int
    detail: str
    code: str
    next: str = ""
    request: str = Field(default="", description="id of the request: in the server's log and in the audit, too")
