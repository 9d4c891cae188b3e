"""The latency brake of the moves in hand, by what is recorded alone. Pure."""

from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.healing import DiskMovesView
from controlplane.cluster.views.latency_brake import LatencyBrakeView

NONE = LatencyBrakeView()


def batch_of(view: ClusterView) -> str:
    """Id of the moves in hand, in the order in which they are looked after; "" where there are none."""
    if view.moves.drain is not None:
        return view.moves.drain.id
    if view.topics.replication is not None:
        return view.topics.replication.id
    if view.moves.rebalance is not None:
        return view.moves.rebalance.id
    moves = first_disk_moves(view)
    return f"disks-{moves[0]}-{moves[1].requested_at:%Y%m%dT%H%M%S}" if moves is not None else ""


def first_disk_moves(view: ClusterView) -> tuple[int, DiskMovesView] | None:
    """The broker whose replicas move between its disks first, and what was asked; None where nobody asked."""
    asked = view.requests.disk_moves.items()
    return min(asked, key=lambda one: (one[1].requested_at, one[0])) if asked else None


def is_of_disks(view: ClusterView) -> bool:
    """Whether the moves in hand are those between the disks of a broker."""
    moves = view.moves
    return moves.drain is None and view.topics.replication is None and moves.rebalance is None


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
