"""The fleet as this server has it folded, as far as somebody beside the ticks needs it. `Converger` is all of them."""

from typing import Protocol

from controlplane.cluster.view import ClusterView
from events.ids import ClusterUid
from planner.observed import KafkaSnapshot


class FoldedFleet(Protocol):
    """All clusters."""

    def views(self) -> list[ClusterView]: ...


class SeenFleet(FoldedFleet, Protocol):
    """All clusters, and what their brokers said last."""

    def last_snapshot(self, uid: ClusterUid) -> KafkaSnapshot | None: ...


class FreshFleet(FoldedFleet, Protocol):
    """All clusters, as of now where that is asked for."""

    def catch_up(self) -> None: ...


class PairedFleet(SeenFleet, Protocol):
    """The same, one cluster at a time."""

    def view(self, uid: ClusterUid) -> ClusterView | None: ...
