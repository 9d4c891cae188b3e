"""What moves replicas of a cluster, and what moved them before: drains, rebalances, moves that hung. Part of
`controlplane.cluster.view`."""

from dataclasses import dataclass, field

from controlplane.cluster.views.drains import DrainView, PostponedView
from controlplane.cluster.views.latency_brake import LatencyBrakeView
from controlplane.cluster.views.rebalances import BatchSpent, LastRebalance, RebalanceView
from controlplane.cluster.views.stuck_moves import StuckMovesView


@dataclass(frozen=True, slots=True)
class MovesView:
    """The drain and the rebalance in hand, and what later ones have to know of earlier ones."""

    drain: DrainView | None = None
    drains: int = 0
    """Drains asked for, ever."""
    postponed: PostponedView | None = None
    """Drains that were put off since anything else came of anything, None where none was."""
    stuck: StuckMovesView = field(default_factory=StuckMovesView)
    brake: LatencyBrakeView = field(default_factory=LatencyBrakeView)
    rebalance: RebalanceView | None = None
    rebalances: int = 0
    """Rebalances asked for, ever."""
    rebalance_spent: tuple[BatchSpent, ...] = ()
    """Batches begun in the 24 hours before the last one, oldest first."""
    last_rebalance: LastRebalance | None = None
    newcomers: tuple[str, ...] = ()
    """Keys of brokers that joined beside the others since the last roll was over; they replace nobody."""
