"""How far a cluster is on the way to its generation. Part of `controlplane.cluster.view`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class RollView:
    """The roll in hand, and what the one before reached."""

    recycling: int = 0
    """Generation being worked towards, 0 when none."""
    converged: int = 0
    """Last generation reached."""
    replaced_at: datetime | None = None
    join_failures: int = 0
    finalising: tuple[str, int] | None = None
    finalised: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
