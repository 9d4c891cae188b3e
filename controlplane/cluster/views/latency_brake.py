"""How far the moves in hand are slowed for the sake of clients, as a value. Part of `controlplane.cluster.view`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from planner.latency_brake import BrokerLoad


@dataclass(frozen=True, slots=True)
class LatencyBrakeView:
    """Counts for the moves of `batch` alone. `share` of the planned rate, since `changed_at` (None: it was never
    changed); `figure` and `reason` say why it is below 1. `planned_bytes_per_s`: what the broker that takes most may
    take by the plan, 0: not known. `before`: what brokers told before these moves.
    `is_soft`: they have begun with a part of the plan's rate, and nothing has been over a limit since."""

    batch: str = ""
    share: float = 1.0
    changed_at: datetime | None = None
    figure: str = ""
    broker: int = -1
    reason: str = ""
    planned_bytes_per_s: int = 0
    is_soft: bool = False
    before: Mapping[int, BrokerLoad] = field(default_factory=lambda: MappingProxyType({}))
