"""The part of the view that a lowered quota of producers is."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class ProducerQuotaView:
    """Kedge's quota, and what it stands in the place of: see `facts.ProducerQuotaLowered`."""

    bytes_per_s: float
    before: float | None
    reason: str
    since: datetime
    ending: str = ""
    """Why it is being taken away, "" while it stays."""
