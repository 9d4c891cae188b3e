"""A metric lake of what a test puts in."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from controlplane.background.anomalies.windows import NoWindows
from planner.anomalies.slow import BrokerWindow


@dataclass
class KeptWindows(NoWindows):
    """Tells of the past what is in `kept`."""

    kept: list[BrokerWindow] = field(default_factory=list)

    def past(self, cluster: str, brokers: Sequence[int], now: datetime) -> Sequence[BrokerWindow]:
        """See Windows."""
        return [w for w in self.kept if w.broker in brokers]

    def figures(self, cluster: str, since: datetime, now: datetime) -> Sequence[BrokerWindow]:
        """See Windows."""
        return [w for w in self.kept if w.start >= since]
