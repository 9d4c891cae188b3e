"""Time as an argument: whoever stamps a row takes a `Clock`, so tests and the simulator own time."""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """The wall clock, in UTC."""
    return datetime.now(UTC)
