"""Where a page of anomalies begins. They end while somebody turns pages, and go from the open ones to those that are
over: who was told one as open goes on among the open ones.
"""

from collections.abc import Sequence

from controlplane.api.paging import following
from controlplane.api.presenters.anomalies import OPEN
from controlplane.background.anomalies.fold import AnomalyFold
from planner.anomalies.judge import Anomaly


def cursor_of(anomaly: Anomaly) -> str:
    """What `after` is for the page behind this one."""
    return anomaly.id if anomaly.is_over else f"{OPEN}/{anomaly.id}"


def behind(fold: AnomalyFold, after: str) -> Sequence[Anomaly]:
    """What is told behind it, open ones first; all for "". Raises ApiError 422 where nobody knows it any more."""
    every = fold.every()
    state, _, last = after.rpartition("/")
    at = following(every, lambda anomaly: anomaly.id, last)
    if state != OPEN or not last:
        return at
    then = next(anomaly for anomaly in every if anomaly.id == last)
    older = [a for a in every if not a.is_over and (a.found_at, a.id) < (then.found_at, then.id)]
    return [*older, *(a for a in every if a.is_over and a.id != last)]
