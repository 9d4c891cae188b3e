"""What brokers are made of, whatever they do at the moment: a figure nobody knows is NaN, never 0 and never a guess."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Hardware:
    """float64[B] each, by broker row, bytes/s, NaN where it is not known.

    `nic_*`: the whole network interface, one way, whatever runs. `disk_*`: what migration may use of all its volumes
    together, head-room and clients are off already: for writing, for reading, and for both at once, by the volumes
    themselves or by the machine's way to them.
    """

    nic_in_bytes_per_s: Floats
    nic_out_bytes_per_s: Floats
    disk_write_bytes_per_s: Floats
    disk_read_bytes_per_s: Floats
    disk_io_bytes_per_s: Floats


FIGURES = tuple(f.name for f in fields(Hardware))
"""Also their names in state files and in the columns of Arrow tables."""


def disk_figures(hardware: Hardware) -> tuple[Floats, Floats, Floats]:
    """What is known of the volumes: for writing, for reading, and for both."""
    return hardware.disk_write_bytes_per_s, hardware.disk_read_bytes_per_s, hardware.disk_io_bytes_per_s


def unknown_hardware(brokers: int) -> Hardware:
    """Of so many brokers nobody knows anything."""
    return Hardware(**{name: np.full(brokers, np.nan) for name in FIGURES})


def hardware_of(entries: Sequence[Mapping[str, Any]]) -> Hardware | None:
    """By name, of each broker in the order of their rows; a figure that is missing or None is not known. None where
    nobody knows any.
    """
    if not any(entry.get(name) is not None for entry in entries for name in FIGURES):
        return None
    return Hardware(**{name: _column(entry.get(name) for entry in entries) for name in FIGURES})


def known_of(hardware: Hardware | None, row: int) -> dict[str, float]:
    """What is known of one broker, by name."""
    if hardware is None:
        return {}
    figures = {name: float(getattr(hardware, name)[row]) for name in FIGURES}
    return {name: value for name, value in figures.items() if value == value}


def _column(values: Iterable[Any]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
