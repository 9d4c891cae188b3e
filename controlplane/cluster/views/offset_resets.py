"""What a cluster's history says of its consumer groups: where people put their offsets last."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class ResetView:
    """The last reset of one group. `over`: the brokers have answered; `refused` then says what they did not take."""

    id: str
    group: str
    at: datetime
    reason: str
    partitions: int
    over: bool = False
    refused: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
