"""What a failover in hand keeps from beginning on its clusters. Pure."""

from datetime import UTC, datetime

from controlplane.cluster.view import ClusterView
from controlplane.fleet.failovers.state import PairCache, PairsView
from controlplane.fleet.failovers.view import PairState
from controlplane.fleet.freezes.state import FreezeCache
from planner.rollout.windows import NO_END, Freeze

_EVER = datetime.min.replace(tzinfo=UTC)


def all_freezes(freezes: FreezeCache, pairs: PairCache, view: ClusterView, now: datetime) -> tuple[Freeze, ...]:
    """Those that are not over, and that of a failover of this cluster."""
    return (*freezes.left(now), *freezes_of(pairs.pairs(), view))


def freezes_of(pairs: PairsView, view: ClusterView) -> tuple[Freeze, ...]:
    """Nothing voluntary begins on either cluster while clients are moved from one to the other. Before that the standby
    may have to grow."""
    pair = pairs.holder(view.uid)
    if pair is None or pair.view.order is None or pair.view.state is PairState.PREPARING:
        return ()
    reason = f"the failover {pair.view.order.id} of the pair {pair.name} is in hand"
    return (Freeze(_EVER, NO_END, reason, frozenset({view.name})),)
