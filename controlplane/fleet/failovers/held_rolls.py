"""What a failover in hand keeps from beginning on its clusters. Pure."""

from datetime import UTC, datetime

from controlplane.cluster.view import ClusterView
from controlplane.fleet.failovers.state import PairsView
from controlplane.fleet.failovers.view import PairState
from planner.rollout.windows import NO_END, Freeze

_EVER = datetime.min.replace(tzinfo=UTC)


def freezes_of(pairs: PairsView, view: ClusterView) -> tuple[Freeze, ...]:
    """Nothing voluntary begins on either cluster while clients are moved from one to the other. Before that the standby
    may have to grow."""
    pair = pairs.holder(view.uid)
    if pair is None or pair.view.order is None or pair.view.state is PairState.PREPARING:
        return ()
    reason = f"the failover {pair.view.order.id} of the pair {pair.name} is in hand"
    return (Freeze(_EVER, NO_END, reason, frozenset({view.name})),)
