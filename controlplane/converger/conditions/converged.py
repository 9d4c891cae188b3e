"""The condition `Converged`: whether the cluster is as declared, as far as Kedge can tell. Pure."""

from controlplane.cluster.view import ClusterView
from controlplane.converger.conditions.ticks import TICK_FAILING
from events import facts

CONVERGED = "Converged"


def converged(view: ClusterView, *, fails: bool | None = None) -> facts.ConditionChanged:
    """Not true where ticks fail (`fails`; as it is recorded, where that is not given), or the history cannot be read:
    nobody compares the cluster with its spec then."""
    failing = view.conditions.get(TICK_FAILING)
    if failing is not None and failing.status if fails is None else fails:
        return facts.ConditionChanged(CONVERGED, False, TICK_FAILING, f"generation {view.generation}: not known")
    if view.history.unreadable:
        return facts.ConditionChanged(CONVERGED, False, "HistoryUnreadable", f"generation {view.generation}: not known")
    reached = view.roll.converged == view.generation and view.roll.recycling == 0
    reason = "Reached" if reached else "Working"
    return facts.ConditionChanged(CONVERGED, reached, reason, f"generation {view.generation}")


def with_converged(view: ClusterView, ticks: facts.ConditionChanged) -> tuple[facts.ConditionChanged, ...]:
    """A change of `TickFailing`, and of `Converged` where that follows from it."""
    known, wanted = view.conditions.get(CONVERGED), converged(view, fails=ticks.status)
    is_same = known is not None and (known.status, known.reason) == (wanted.status, wanted.reason)
    return (ticks,) if is_same else (ticks, wanted)
