"""Times and counts as people say them."""

from datetime import UTC, datetime


def human_seconds(seconds: float) -> str:
    """`0.4 s`, `12 s`, `2 min 5 s`, `1 h 2 min`, `3 d 4 h`: at most two units."""
    if seconds < 0:
        return f"-{human_seconds(-seconds)}"
    if seconds < 9.95:
        return f"{seconds:.1f} s".replace(".0 s", " s")
    whole = round(seconds)
    days, hours, minutes, rest = whole // 86400, whole % 86400 // 3600, whole % 3600 // 60, whole % 60
    units = [(days, "d"), (hours, "h"), (minutes, "min"), (rest, "s")]
    first = next(index for index, (count, _) in enumerate(units) if count or index == 3)
    return " ".join(f"{count} {unit}" for count, unit in units[first : first + 2] if count)


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


def counted(count: int, noun: str) -> str:
    """`1 node`, `2 nodes`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
