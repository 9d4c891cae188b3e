"""What the API says of clouds: whether each is ready for clusters."""

from datetime import datetime

from pydantic import Field

from controlplane.api.schemas.messages import Message


class FindingOut(Message):
    """One check, and what came of it."""

    what: str = Field(description="what was looked at, as in `aws/default/eu-west-1: images`")
    well: bool | None = Field(description="null where nobody can tell")
    told: str
    what_next: str = Field(default="", description="what a person does about it")


class ExaminationOut(Message):
    """One cloud, in the order in which things are to be mended."""

    cloud: str
    asking: bool = Field(description="it is asked now: what is told is of the time before, or nothing yet")
    began_at: datetime | None
    ended_at: datetime | None = Field(description="null before it was asked for the first time")
    findings: list[FindingOut]


class DoctorOut(Message):
    """Clouds by name, the server's role in its database, and the server itself."""

    items: list[ExaminationOut]
    database: list[FindingOut] = Field(default=[], description="empty on SQLite, which has no roles")
    server: list[FindingOut] = Field(
        default=[], description="how many agents fit, whether its database takes writes, what repeats and fails"
    )
