"""Times as requests give them: written out, never a bare number of seconds or milliseconds that could be either."""

import re
from datetime import UTC, datetime
from typing import Annotated

from pydantic import BeforeValidator

_DATED = re.compile(r"\d{4}-\d{2}-\d{2}[T ]")


def _written(value: object) -> object:
    if isinstance(value, datetime) or (isinstance(value, str) and _DATED.match(value)):
        return value
    raise ValueError("a time is written as 2026-01-31T12:00:00Z")


Moment = Annotated[datetime, BeforeValidator(_written)]
"""ISO 8601 with a date and a time. Of one without an offset the caller decides what it means."""


def moment_in(text: str) -> datetime | None:
    """A moment as browsers and people write it, without a zone UTC; None for what is none."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
