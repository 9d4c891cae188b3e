"""What agents say: their reports, and in which clusters they found something wrong."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from controlplane.cluster.observed.agent_reports import (
    AGENT_FINDINGS,
    AGENT_REPORT,
    ReportSeen,
    reports_by_key,
    unhealthy_clusters,
)
from controlplane.cluster.observed.report_pace import pace_of
from controlplane.cluster.view import ClusterView
from controlplane.storage.latest_values import LatestStore
from events.clock import Clock
from events.ids import ClusterUid

FINDINGS_EVERY = timedelta(seconds=5)
"""How often it is asked which clusters agents found something wrong in."""


class AgentsReader:
    """Findings are kept for all clusters; reports are read when they are asked for."""

    def __init__(self, latest: LatestStore, clock: Clock) -> None:
        self._latest, self._clock = latest, clock
        self._unhealthy: tuple[datetime, frozenset[ClusterUid]] | None = None

    def reports(self, view: ClusterView) -> Mapping[str, ReportSeen]:
        """The last of each VM, by the key of its instance, as they count at the pace that is asked for now."""
        seen = reports_by_key(self._latest.of_cluster(view.uid, AGENT_REPORT))
        return {key: one.at_most(pace_of(view)) for key, one in seen.items()}

    def is_unhealthy(self, uid: ClusterUid, *, anew: bool = False) -> bool:
        """Whether agents found something wrong in it. Read for all clusters at once, every few seconds, or `anew`."""
        now = self._clock()
        if anew or self._unhealthy is None or now - self._unhealthy[0] >= FINDINGS_EVERY:
            self._unhealthy = now, unhealthy_clusters(self._latest.of_kind(AGENT_FINDINGS), now)
        return uid in self._unhealthy[1]
