"""The envelope round every event: what the store adds to a fact when it is recorded."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event that is about to be appended. `data` is JSON-safe; `type` is a stable string, never a class path."""

    event_id: str
    type: str
    schema: int
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Origin:
    """Who asked and why. `actor` is "person:NAME", "git:BINDING" or "converger"; `cause` the event id behind it."""

    actor: str
    cause: str | None = None
    command_id: str | None = None
    epoch: int = 0


@dataclass(frozen=True, slots=True)
class Recorded:
    """An event as it is stored. `position` is global, gap-free, from 1; `version` counts inside the stream, from 1."""

    position: int
    stream: str
    version: int
    event_id: str
    type: str
    schema: int
    data: Mapping[str, Any]
    actor: str
    cause: str | None
    command_id: str | None
    epoch: int
    recorded_at: datetime
