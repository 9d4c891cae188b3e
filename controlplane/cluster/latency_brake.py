"""The latency brake of the moves in hand, by what is recorded alone. Pure."""

from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.latency_brake import LatencyBrakeView

NONE = LatencyBrakeView()


def batch_of(view: ClusterView) -> str:
    """Id of the moves in hand, in the order in which they are looked after; "" where there are none."""
    if view.moves.drain is not None:
        return view.moves.drain.id
    if view.topics.replication is not None:
        return view.topics.replication.id
    return view.moves.rebalance.id if view.moves.rebalance is not None else ""


def brake_of(view: ClusterView) -> LatencyBrakeView:
    """The brake of the moves in hand: not pressed where nothing is recorded of these, or the spec wants none."""
    brake = view.moves.brake
    return brake if brake.batch and brake.batch == batch_of(view) and is_braking(view) else NONE


def share_of(view: ClusterView) -> float:
    """Of the planned rate, 0 to 1."""
    return brake_of(view).share


def is_braking(view: ClusterView) -> bool:
    """Whether the spec wants a brake at all."""
    return view.document is None or view.document.spec.rollout.brake.enabled
