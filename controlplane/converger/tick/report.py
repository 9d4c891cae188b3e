"""What a tick did, and what it said."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Said:
    """The sentence a cluster's last tick ended in. `until`: when what it waits for is tried again by itself, where that
    is known. `took_s`: seconds from its beginning to its end, looks at Kafka and what was done included."""

    at: datetime
    sentence: str
    until: datetime | None = None
    took_s: float | None = None


@dataclass(slots=True)
class TickReport:
    """What one tick of the fleet did."""

    clusters: int = 0
    events: int = 0
    effects: int = 0
    jobs: int = 0
    """Effects that are long acts: they ring when they have ended."""
    failures: int = 0
    doing: str = ""
    """What the tick of a cluster is about just now, to follow "while"."""

    @property
    def moved(self) -> bool:
        return bool(self.events or self.effects) and not self.failures


def add_to(total: TickReport, part: TickReport) -> None:
    total.clusters += part.clusters
    total.events += part.events
    total.effects += part.effects
    total.jobs += part.jobs
    total.failures += part.failures
