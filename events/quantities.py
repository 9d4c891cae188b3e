"""Sizes in bytes, and counts as people say them."""

MIB = 1024**2
GIB = 1024**3


def counted(number: int, noun: str) -> str:
    """`1 zone`, `2 zones`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
