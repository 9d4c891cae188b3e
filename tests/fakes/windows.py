"""A metric lake of what a test puts in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from controlplane.background.anomalies.windows import NoWindows
from planner.anomalies.slow import BrokerWindow
from spark.metrics.read_trends import ClusterTrends


@dataclass
class KeptWindows(NoWindows):
    """Tells of the past what is in `kept`."""

    kept: list[BrokerWindow] = field(default_factory=list)
    grown: dict[str, ClusterTrends] = field(default_factory=dict)

    def past(self, cluster: str, brokers: Sequence[int], now: datetime) -> Sequence[BrokerWindow]:
        """See Windows."""
        return [w for w in self.kept if w.broker in brokers]

    def figures(self, cluster: str, since: datetime, now: datetime) -> Sequence[BrokerWindow]:
        """See Windows."""
        return [w for w in self.kept if w.start >= since]

    def trends(self) -> Mapping[str, ClusterTrends]:
        """See Windows."""
        return self.grown
