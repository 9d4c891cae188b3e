"""Brokers that people want empty, as values. Part of `controlplane.cluster.view`."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class EvacuationView:
    """A person wants this broker to be empty and to stay so. `empty_at`: since when it is, None before."""

    reason: str
    requested_at: datetime
    empty_at: datetime | None = None
    targets: tuple[int, ...] = ()
    """Brokers that may take what it holds; none for all that receive."""
    throttle_mib_per_s: int = 0
    """Of its moves, under that of the spec; 0 for that alone."""
