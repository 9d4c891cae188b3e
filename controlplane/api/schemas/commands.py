"""What the API takes with a command, and what it answers to one."""

from pydantic import Field

from controlplane.api.moments import Moment
from controlplane.api.schemas.messages import Message


class ReasonIn(Message):
    """A command with its reason. `until` only with pause."""

    reason: str = ""
    until: Moment | None = None


class DeleteIn(Message):
    """The tombstone: `confirm` must be the cluster's name, typed out."""

    confirm: str
    reason: str = ""
    despite_freeze: bool = Field(default=False, description="destroy VMs though the cluster is frozen")


class LossIn(Message):
    """VMs of these racks, which a listing calls gone and Kedge does not believe to be, are gone. `confirm` must be the
    cluster's name, typed out."""

    racks: list[str] = Field(min_length=1, max_length=50)
    confirm: str
    reason: str = ""


class CommandOut(Message):
    """A command was recorded (or changed nothing)."""

    cluster: str
    changed: bool
    sentence: str
    proposal: str = Field(default="", description="id of the proposal it became: nothing is done before a yes")


class ChangedOut(Message):
    """Whether anything was changed."""

    changed: bool
