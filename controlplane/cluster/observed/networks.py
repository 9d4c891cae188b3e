"""What VMs of a cluster wait for of a network that Kedge makes."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class NetworkAwaited:
    """A network of Kedge's that VMs wait for, in words."""

    sentence: str
    lacks_permission: bool = False
    """Its last run did."""
    next_try_at: datetime | None = None
    next_command: str = "kedge networks"
