"""What is known of a cluster's events as such. Part of `controlplane.cluster.view`."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class HistoryView:
    """How far the history has come, and whether it can be read."""

    progressed_at: datetime | None = None
    """Time of the last event that is not a mere condition."""
    unreadable: str = ""
    """Why the history cannot be read, empty when it can."""
