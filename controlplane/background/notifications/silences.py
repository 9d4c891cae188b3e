"""Notices that a freeze keeps back, and what goes out as one. Pure.

A freeze with `silence` delays what is not critical: what is over when it ends is never told, the rest is told then.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache

from controlplane.background.notifications.notice import Notice
from controlplane.background.notifications.outbox import WaitingNotice
from controlplane.cluster.condition_severity import Severity
from controlplane.cluster.view import ClusterView
from controlplane.fleet.freezes.state import FreezeCache
from controlplane.fleet.ports import SeenFleet

MOST_AT_ONCE = 100
"""Notices that may go out now, among which those of a cluster are looked for."""

IsSilenced = Callable[[Notice, datetime], bool]
"""Whether that notice is kept back at that time."""


def never(_notice: Notice, _at: datetime) -> bool:
    """Nothing is silenced."""
    return False


def silences(freezes: FreezeCache, fleet: SeenFleet) -> IsSilenced:
    """What freezes keep back, with the labels that the living clusters of their names have now: for one round."""
    labels = cache(lambda: {v.name: _labels(v) for v in fleet.views() if not v.deleted})

    def silenced(notice: Notice, at: datetime) -> bool:
        if notice.severity == Severity.CRITICAL:
            return False
        return any(
            f.names(notice.cluster, notice.owner, labels().get(notice.cluster, {}) if f.labels else {})
            for f in freezes.silencing(at)
        )

    return silenced


def passed_in_silence(waiting: Sequence[WaitingNotice], silenced: IsSilenced) -> Collection[int]:
    """Positions of what nobody has to hear any more: its end waits too, and all that came before it was silenced."""
    by_key: dict[str, list[WaitingNotice]] = {}
    for one in waiting:
        by_key.setdefault(one.notice.key, []).append(one)
    passed: set[int] = set()
    for those in by_key.values():
        alarms = [one.notice for one in those if not one.notice.is_over]
        if len(alarms) < len(those) and alarms and all(silenced(n, n.at) for n in alarms):
            passed.update(one.position for one in those)
    return passed


def going_out(
    waiting: Sequence[WaitingNotice], now: datetime, gathers: timedelta, silenced: IsSilenced = never
) -> Sequence[WaitingNotice]:
    """The oldest that may be told and the others of its cluster, in order: one message. Empty where none may, or the
    oldest is younger than `gathers`. `waiting`: oldest first."""
    may_go = [one for one in waiting if not silenced(one.notice, now)][:MOST_AT_ONCE]
    if not may_go or now - may_go[0].notice.at < gathers:
        return ()
    return [one for one in may_go if one.notice.cluster == may_go[0].notice.cluster]


def _labels(view: ClusterView) -> Mapping[str, str]:
    return view.document.metadata.labels if view.document is not None else {}
