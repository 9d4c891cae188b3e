"""Times as requests give them: written out, never a bare number of seconds or milliseconds that could be either."""

import re
from datetime import UTC, datetime, tzinfo
from typing import Annotated

from pydantic import BeforeValidator

_DATED = re.compile(r"\d{4}-\d{2}-\d{2}[T ]")


def _written(value: object) -> object:
    if isinstance(value, datetime) or (isinstance(value, str) and _DATED.match(value)):
        return value
    raise ValueError("a time is written as 2026-01-31T12:00:00Z")


Moment = Annotated[datetime, BeforeValidator(_written)]
"""ISO 8601 with a date and a time. Of one without an offset the caller decides what it means."""


def moment_in(text: str, zone: tzinfo = UTC) -> datetime | None:
    """A moment in UTC as browsers and people write it, without an offset of this zone; None for what is none."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return as_utc(found, zone)


def as_utc(moment: datetime, zone: tzinfo = UTC) -> datetime:
    """A moment as events hold it; one without an offset is of this zone. Where the years end in UTC (1 and 9999) it is
    the last moment there is: nothing was recorded beyond."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=zone)
    try:
        return aware.astimezone(UTC)
    except OverflowError:
        return (datetime.max if moment.year > 1 else datetime.min).replace(tzinfo=UTC)
