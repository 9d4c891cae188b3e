"""What is kept of an agent's report: the report itself, and a mark where it tells that something is wrong.

Clusters at rest are not looked at report by report: the marks, read for the whole fleet at once, say which ones to look
at. A mark is never taken away; it counts as long as it is young.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from pydantic import TypeAdapter, ValidationError

from agent.wire import SILENT_AFTER_S as SILENT_AFTER_S, Report, ServiceReport
from controlplane.cluster.observed.report_pace import AT_WORK, STALE_AFTER, ReportPace
from controlplane.storage.latest_values import LatestStore, LatestValue, Subject
from events.ids import ClusterUid

AGENT_REPORT = "agent-report"
"""Kind of the latest-value rows that hold the agents' reports."""


@dataclass(frozen=True, slots=True)
class ReportSeen:
    """The last report of one VM's agent, and when the control plane heard the last time that it is so. `measured_at`:
    when it came with its measurements; None is the same moment."""

    report: Report
    received_at: datetime
    pace: ReportPace = AT_WORK
    """What the agent was asked for when it told this."""
    measured_at: datetime | None = None

    def is_young(self, now: datetime) -> bool:
        """Whether anything may be done on it."""
        return now - self.received_at <= self.pace.young_for

    def at_most(self, pace: ReportPace) -> "ReportSeen":
        """As it counts where a pace is asked for now."""
        return replace(self, pace=self.pace.at_most(pace))

    def since(self, service: ServiceReport) -> datetime:
        """When the service came to be as it is, by our clock: how long ago that was is by the VM's."""
        return self.figures_at - (self.report.at - service.since)

    @property
    def figures_at(self) -> datetime:
        """When its measurements came, by our clock."""
        return self.measured_at or self.received_at

    def has_young_figures(self, now: datetime) -> bool:
        """Whether anything may be done on its measurements: a report that stands may have those of a minute ago."""
        return self.is_young(now) and now - self.figures_at <= STALE_AFTER

    def service(self, name: str) -> ServiceReport | None:
        for service in self.report.services:
            if service.name == name:
                return service
        return None


AGENT_FINDINGS = "agent-findings"
"""Kind of the latest-value rows that say of which VM's agent findings were told, and when."""


def keep_report(
    latest: LatestStore, cluster_uid: ClusterUid, key: str, report: Report, at: datetime, pace: ReportPace = AT_WORK
) -> bool:
    """Keeps it under the key of its instance. Whether it was news. Raises StoreUnavailable."""
    *marks, row = rows_of(cluster_uid, key, report, at, pace)
    for mark in marks:
        latest.put(mark)
    return latest.put(row)


def rows_of(
    cluster_uid: ClusterUid, key: str, report: Report, at: datetime, pace: ReportPace = AT_WORK
) -> list[LatestValue]:
    """What is kept of a report that came at `at`: a mark where it tells that something is wrong, and itself, last."""
    row = LatestValue(
        subject=Subject(AGENT_REPORT, cluster_uid, key),
        value={**report.model_dump(mode="json"), _KEPT: {"at": at.isoformat(), "every_s": pace.every_s}},
        source="agent",
        observed_at=at,
        boot_id=report.boot_id,
        seq=report.seq,
    )
    count = wrong_in(report)
    return [mark_of(cluster_uid, key, count, at), row] if count else [row]


def wrong_in(report: Report) -> int:
    """Of how many things it tells that they are wrong."""
    count = sum(len(service.findings) for service in report.services)
    count += sum(h.silent_s >= SILENT_AFTER_S for h in report.heartbeats)
    return count + (report.preemption is not None)


def mark_of(cluster_uid: ClusterUid, key: str, count: int, at: datetime) -> LatestValue:
    """That something is wrong, by the agent of an instance."""
    return LatestValue(Subject(AGENT_FINDINGS, cluster_uid, key), {"findings": count}, "agent", at)


def reports_of(latest: LatestStore, uid: ClusterUid) -> dict[str, ReportSeen]:
    """The last report of each agent of a cluster, by instance key. Raises StoreUnavailable."""
    return reports_by_key(latest.of_cluster(uid, AGENT_REPORT))


def reports_by_key(rows: Iterable[LatestValue]) -> dict[str, ReportSeen]:
    """Reports as they are kept, by the key of their instance. One that another release kept and this one cannot read is
    left out until its agent reports anew: it has not been heard, which is waited for, and no tick fails over it."""
    read = ((row, seen_in(row)) for row in rows)
    return {row.subject.name: seen for row, seen in read if seen is not None}


def last_report(latest: LatestStore, cluster_uid: ClusterUid, key: str) -> ReportSeen | None:
    """The last one of this instance, None where there is none that can be read. Raises StoreUnavailable."""
    kept = latest.get(Subject(AGENT_REPORT, cluster_uid, key))
    return reports_by_key([kept]).get(key) if kept is not None else None


def unhealthy_clusters(marks: Iterable[LatestValue], now: datetime) -> frozenset[ClusterUid]:
    """Clusters of which something was found a moment ago."""
    return frozenset(m.subject.cluster_uid for m in marks if now - m.observed_at <= STALE_AFTER)


def seen_in(row: LatestValue) -> ReportSeen | None:
    """The report of one row; None where another release kept it and this one cannot read it."""
    try:
        report = Report.model_validate(dict(row.value))
        kept = _KEPT_ROW.validate_python(row.value.get(_KEPT, {}))
    except ValidationError:
        return None
    return ReportSeen(report, row.observed_at, ReportPace(kept.every_s), kept.at)


@dataclass(frozen=True, slots=True)
class _KeptReport:
    """What is kept beside a report. A row of a release before has nothing."""

    at: datetime | None = None
    every_s: float = AT_WORK.every_s


_KEPT = "kept"
_KEPT_ROW = TypeAdapter(_KeptReport)
