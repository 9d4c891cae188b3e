"""How often agents are asked to report, and for how long a report counts by that.

    work in hand, something found, harm told    every 3 s    young for 30 s, silent after 10 s
    at rest                                     every 30 s   young for 45 s, silent after 37 s

A change is told at once whatever the pace, and who is asked for a faster one hears of it within a second, by the
question it holds. So one thing alone is slower at rest: that somebody says nothing. What is decided while work is in
hand rests on the faster pace alone (`at_most`).
"""

from dataclasses import dataclass
from datetime import timedelta

from controlplane.cluster.condition_severity import Severity, is_note, row_of, severity_of
from controlplane.cluster.view import ClusterView
from controlplane.cluster.work_in_hand import has_work
from controlplane.runtime.once import once

STALE_AFTER = timedelta(seconds=30)
"""Nothing is destroyed on an observation older than this while work is in hand, however it was asked for."""

AT_REST_S = 30.0
"""The slowest: other limits of a minute (seats of agents, evidence of anomalies) hold for it as they are."""

_LATE_S = 15.0
"""For an answer that comes late: an agent hangs up after 10 s, and makes its reports every 3 s."""
_SLACK_S = 7.0


@dataclass(frozen=True, slots=True)
class ReportPace:
    """A report is wanted every `every_s` seconds."""

    every_s: float = 3.0

    @property
    def young_for(self) -> timedelta:
        """How long something may be done on a report that came at this pace."""
        return max(STALE_AFTER, timedelta(seconds=self.every_s + _LATE_S))

    @property
    def silent_after(self) -> timedelta:
        """Whoever kept this pace has just fallen silent after so long, or is late: unknown, not dead."""
        return timedelta(seconds=self.every_s + _SLACK_S)

    def at_most(self, other: "ReportPace") -> "ReportPace":
        """The faster of the two."""
        return self if self.every_s <= other.every_s else other


AT_WORK = ReportPace()
"""Also of an agent that follows no pace: it reports so by itself."""
AT_REST = ReportPace(AT_REST_S)


@once
def pace_of(view: ClusterView) -> ReportPace:
    """What the agents of a cluster are asked for, by its events alone."""
    return AT_WORK if has_work(view) or _is_harmed(view) else AT_REST


def _is_harmed(view: ClusterView) -> bool:
    """Whether something is told that a cure may follow from, or that a person looks at now."""
    wrong = (
        (kind, one.reason)
        for kind, one in view.conditions.items()
        if one.status != row_of(kind).good_when_true and not is_note(kind, one.reason)
    )
    return any(kind in _WATCHED or severity_of(kind, reason) is Severity.CRITICAL for kind, reason in wrong)


_WATCHED = frozenset({"Ailing", "ElectionsFail", "ReassignmentHung"})
