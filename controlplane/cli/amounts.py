"""Amounts as people write them: `200MB/s`, `1Gbit/s`, `2TiB`."""

import re

from controlplane.cli import exits
from controlplane.cli.errors import CliError

_AMOUNT = re.compile(r"^(?P<number>\d+(?:\.\d+)?(?:e\d+)?)\s*(?P<unit>[A-Za-z]*)$")
_SCALES = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def rate_in(text: str, *, option: str) -> float:
    """Bytes per second; `/s` may be left out. Raises CliError."""
    return _amount(text.removesuffix("/s").removesuffix("ps"), text, option, example="200MB/s or 1Gbit/s")


def size_in(text: str, *, option: str) -> int:
    """Bytes. Raises CliError."""
    return int(_amount(text, text, option, example="500GB or 2TiB"))


def _amount(text: str, said: str, option: str, *, example: str) -> float:
    found = _AMOUNT.match(text.strip())
    scale = _scale(found["unit"]) if found else None
    value = float(found["number"]) * scale if found and scale else 0.0
    if value <= 0:
        raise CliError(
            f"`{said}` is not an amount above 0", next_step=f"{option} takes {example}", exit_code=exits.USAGE
        )
    return value


def _scale(unit: str) -> float | None:
    """`MiB` -> 2**20; bits are told by `bit`, so that `B` and `b` need not be told apart."""
    word = unit.lower()
    if word.endswith("bit"):
        scale = _SCALES.get(word.removesuffix("bit"))
        return None if scale is None else scale / 8
    return _SCALES.get(word.removesuffix("b"))
