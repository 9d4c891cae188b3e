"""The throttle of the moves in hand: the spec's, or a lower one that a person asked for with them. Pure."""

from controlplane.cluster.view import ClusterView


def cap_mib_per_s(view: ClusterView) -> int | None:
    """MiB/s a broker each way that the drain or the rebalance in hand may use at most; None for no such limit."""
    return min(filter(None, (_of_spec(view), *_asked(view))), default=None)


def lowered(view: ClusterView, throttle_mib_per_s: int) -> int | None:
    """The same for moves that are not asked for yet."""
    return min(filter(None, (_of_spec(view), throttle_mib_per_s)), default=None)


def _of_spec(view: ClusterView) -> int | None:
    return view.document.spec.rollout.throttle_mib_per_s if view.document else None


def _asked(view: ClusterView) -> list[int]:
    """A drain goes before a rebalance: what runs of that one then runs as the drain does."""
    if view.moves.drain is not None:
        kept = view.requests.evacuations if view.moves.drain.stays else {}
        return [kept[key].throttle_mib_per_s for key in view.moves.drain.keys if key in kept]
    return [view.moves.rebalance.terms.throttle_mib_per_s] if view.moves.rebalance is not None else []
