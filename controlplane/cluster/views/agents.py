"""What the agent of a VM was told to become, as a value: part of a cluster's folded state."""

from dataclasses import dataclass
from datetime import datetime

from events import facts


@dataclass(frozen=True, slots=True)
class AgentOrderView:
    """What the agent of a VM was last told to become. `done_at` and `failed_at` are None while it is in hand."""

    asked: facts.AgentUpgradeRequested
    at: datetime
    done_at: datetime | None = None
    failed_at: datetime | None = None
    problem: str = ""

    @property
    def is_open(self) -> bool:
        return self.done_at is None and self.failed_at is None
