"""Times and counts as people say them."""

from datetime import UTC, datetime

from planner.quantities import human_seconds as human_seconds


def moment_to_minute(at: datetime) -> str:
    """`2026-01-03 02:00 UTC`: to the minute, as windows are written."""
    return f"{at:%Y-%m-%d %H:%M} UTC"


def ago(then: datetime | None, now: datetime) -> str:
    """How long since: `12 s ago`, `never`."""
    if then is None:
        return "never"
    return f"{human_seconds(max(0, round((now - then).total_seconds())))} ago"


def since(then: datetime | None, now: datetime) -> str:
    """The moment with its age: `2026-01-02 03:04:05Z (12 s ago)`."""
    return "-" if then is None else f"{moment(then)} ({ago(then, now)})"


def moment(then: datetime) -> str:
    """A moment to the second, in UTC and saying so."""
    return then.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%SZ")
