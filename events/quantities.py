"""Sizes in bytes, and counts as people say them."""

from collections.abc import Sequence

MIB = 1024**2
GIB = 1024**3


def counted(number: int, noun: str) -> str:
    """`1 zone`, `2 zones`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def named(things: Sequence[object], most: int = 3) -> str:
    """`a, b, c and 3 more`."""
    more = f" and {len(things) - most} more" if len(things) > most else ""
    return f"{', '.join(map(str, things[:most]))}{more}"
