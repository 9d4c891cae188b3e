"""What every message of the API is made of, and how an error is said. The schemas are the one contract between the
server and every way in (CLI, portal, scripts).
"""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field

API_PREFIX = "/v1"


class Message(BaseModel):
    """Base of requests and answers: frozen, camelCase outside, no unknown keys in requests."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def like(cls, source: object, /, **others: Any) -> Self:
        """Every field as `source` has it under the same name, but for `others`. Raises AttributeError for one that
        neither has: a default is never taken for it.
        """
        same = {name: getattr(source, name) for name in cls.model_fields.keys() - others.keys()}
        return cls(**same, **others)


class ErrorOut(Message):
    """application/problem+json: what, where, why, what next."""

    title: str
    status: int
    detail: str
    code: str
    next: str = ""
    request: str = Field(default="", description="id of the request: in the server's log and in the audit, too")
