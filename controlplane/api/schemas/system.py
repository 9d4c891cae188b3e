"""What the API says of the server itself."""

from pydantic import Field

from controlplane.api.schemas.messages import Message


class BackupIn(Message):
    path: str


class BackupOut(Message):
    path: str
    events: int
    sha256: str


class VersionOut(Message):
    version: str
    api: str
    installation_id: str
    epoch: int
    leader: bool
    planner: str = Field(description="spark, starting or in-process; `unknown` to a portal that has heard no loop")
    part: str = Field(default="", description="`loop`, `portal` or `agents` where these are processes of their own")
