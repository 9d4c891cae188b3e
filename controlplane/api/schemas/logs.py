"""What the HTTP API says of lines of logs; the rest of the contract is in `schemas`."""

from datetime import datetime

from pydantic import Field

from controlplane.api.schemas.messages import Message


class LogLineOut(Message):
    """One entry of a log; a stack trace is one."""

    node: str
    generation: int
    service: str = Field(description="broker, controller, zookeeper, replicator or agent")
    at: datetime
    level: str = Field(description="TRACE, DEBUG, INFO, WARN, ERROR or FATAL; empty where the log does not say")
    error: str = Field(description="class of the first exception it names, or empty")
    text: str
    left_out: int = Field(default=0, description="so many lines are missing here: there were too many in a minute")


class LogsOut(Message):
    """A page. `next` goes on behind it, also when it is the end: what is written later follows there."""

    cluster: str
    lines: list[LogLineOut]
    next: str
    is_end: bool = Field(description="there was no more when it was read")
    problem: str = Field(default="", description="why there is nothing to read, in words")
