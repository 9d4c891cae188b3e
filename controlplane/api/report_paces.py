"""What agents are asked for: reports every few seconds while there is work or something was found, rarely at rest."""

from collections.abc import Callable
from datetime import datetime, timedelta

from agent.wire import DoorReport, Report
from controlplane.cluster.observed.agent_reports import wrong_in
from controlplane.cluster.observed.report_pace import AT_REST, AT_WORK, ReportPace, pace_of
from controlplane.cluster.view import ClusterView
from events.clock import Clock
from events.ids import ClusterUid

WATCHED_FOR = timedelta(seconds=60)
"""A cluster of which an agent found something is asked closely for so long after that."""
_WELL = frozenset({"running", "stopped"})


_TOLD_EVERY = WATCHED_FOR / 3
"""While an agent goes on finding something, others are told so often."""


def _unheard(uid: ClusterUid) -> None:
    """Where nobody waits."""


class ReportPaces:
    """Findings are remembered by cluster, as far as they came here or `found` was told. `at_rest` is what agents at
    rest are asked for; `tell` is called where a finding has the other agents of its cluster asked closely from now on.
    """

    def __init__(
        self, clock: Clock, at_rest: ReportPace = AT_REST, *, tell: Callable[[ClusterUid], None] = _unheard
    ) -> None:
        self._clock, self._at_rest, self._tell = clock, at_rest, tell
        self._found_at: dict[ClusterUid, datetime] = {}
        self._told_at: dict[ClusterUid, datetime] = {}

    def of(self, view: ClusterView) -> ReportPace:
        """What the agents of a cluster are asked for now."""
        found_at = self._found_at.get(view.uid)
        if found_at is not None and self._clock() - found_at > WATCHED_FOR:
            self._found_at.pop(view.uid, None)
            self._told_at.pop(view.uid, None)
            found_at = None
        if found_at is not None or pace_of(view) is AT_WORK:
            return AT_WORK
        return self._at_rest

    def after(self, view: ClusterView, report: Report) -> ReportPace:
        """The same once this report has come. An agent that follows no pace is asked for what it does."""
        if is_unwell(report):
            self.found(view.uid)
            now, told_at = self._clock(), self._told_at.get(view.uid)
            if told_at is None or now - told_at >= _TOLD_EVERY:
                self._told_at[view.uid] = now
                self._tell(view.uid)
        return self.of(view) if report.digest else AT_WORK

    def found(self, uid: ClusterUid) -> None:
        """An agent of that cluster found something just now, here or at another process."""
        self._found_at[uid] = self._clock()


def is_unwell(report: Report) -> bool:
    """Whether it tells of something that is wrong, or that is not done yet."""
    if wrong_in(report) or report.message or (report.packet_filter is not None and report.packet_filter.problem):
        return True
    if report.door is not None and not _is_as_ordered(report.door):
        return True
    if report.upgrade is not None and report.upgrade.state in ("fetching", "trying"):
        return True
    return any(service.state not in _WELL or service.hangs for service in report.services)


def _is_as_ordered(door: DoorReport) -> bool:
    """A failover waits for who still lets clients in."""
    return door.in_force and not door.problem and (door.state == "open" or door.connections == 0)
