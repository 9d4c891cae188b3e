"""Bytes as people say them, and long lists cut short."""

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
