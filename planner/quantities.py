"""Bytes as people say them, brokers by their ids, and long lists cut short."""

from collections.abc import Sequence

_UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB")


def human_bytes(amount: float) -> str:
    """`512 B`, `1.5 KiB`, `12.0 GiB`."""
    if amount < 1024:
        return f"{amount:.0f} B"
    for unit in _UNITS:
        amount /= 1024
        if amount < 1023.95 or unit == _UNITS[-1]:
            return f"{amount:.1f} {unit}"
    raise AssertionError("unreachable")


def named(things: Sequence[object], most: int = 3) -> str:
    """`orders-3, orders-4, orders-7 and 12 more`."""
    head = ", ".join(str(thing) for thing in things[:most])
    rest = len(things) - most
    return f"{head} and {rest} more" if rest > 0 else head


def brokers_named(ids: Sequence[int]) -> str:
    """`broker 1`, or `brokers 1, 2`, in the order given."""
    return f"broker{'s' * (len(ids) != 1)} {', '.join(map(str, ids))}"


def human_share(part: float | None) -> str:
    """`12.5%`, or `-` where nobody knows what of."""
    return "-" if part is None else f"{part:.1%}"


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
