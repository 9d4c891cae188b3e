"""What the API says of freezes, and takes for them."""

from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, field_validator

from controlplane.api.moments import Moment
from controlplane.api.schemas.messages import Message

Why = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")
]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")]


class FreezeIn(Message):
    """A freeze to declare. `everything` says that the whole fleet is meant; else it names at least one cluster, team
    (`metadata.owner`) or label. Of labels a cluster has to carry all; else one name is enough.
    """

    until: Moment = Field(description="when it ends by itself, 30 days from now at most; without a zone it is UTC")
    reason: Why
    clusters: list[Name] = Field(default_factory=list, max_length=100)
    teams: list[Name] = Field(default_factory=list, max_length=100)
    labels: dict[Name, Annotated[str, StringConstraints(max_length=200)]] = Field(default_factory=dict, max_length=20)
    everything: bool = False
    silence: bool = Field(default=False, description="notices wait until it ends, but critical ones")

    @field_validator("until")
    @classmethod
    def _in_utc(cls, at: datetime) -> datetime:
        try:
            return at.replace(tzinfo=at.tzinfo or UTC).astimezone(UTC)
        except OverflowError:
            raise ValueError("that time is out of range") from None

    @field_validator("clusters", "teams")
    @classmethod
    def _once(cls, names: list[str]) -> list[str]:
        return sorted(set(names))


class ThawIn(Message):
    """Why it ends before its time."""

    reason: Why


class FreezeSaidOut(Message):
    """The freeze it is about, and what happens."""

    id: str
    sentence: str


class FreezeOut(Message):
    """One freeze. One of the server's settings has no id and no `by`, and nobody thaws it."""

    id: str
    source: Literal["people", "settings"]
    state: Literal["in force", "to come", "thawed", "over"]
    since: datetime | None = Field(description="null where settings name no beginning")
    until: datetime
    reason: str
    by: str
    everything: bool
    clusters: list[str]
    teams: list[str]
    labels: dict[str, str]
    silence: bool = False
    thawed_at: datetime | None = None
    thawed_by: str = ""
    thawed_why: str = ""


class FreezesOut(Message):
    """Those people declared, the newest first, then those of the settings."""

    items: list[FreezeOut]
