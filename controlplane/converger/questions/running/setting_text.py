"""How values of settings are told, and how long they may take to be read back."""

from collections.abc import Mapping

READ_BACK_S = 60.0
"""Brokers show a live value within a second; one that does not after this time is told as a condition."""

NAMED = 3
"""So many are told by name."""


def words(values: Mapping[str, str | None]) -> str:
    """`a=1, b unset and 3 more`."""
    named = [f"{n} unset" if v is None else f"{n}={v}" for n, v in sorted(values.items())]
    rest = len(named) - NAMED
    return ", ".join(named[:NAMED]) + (f" and {rest} more" if rest > 0 else "")
