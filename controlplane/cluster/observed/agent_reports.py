"""What is kept of an agent's report: the report itself, and a mark where it tells that something is wrong.

Clusters at rest are not looked at report by report: the marks, read for the whole fleet at once, say which ones to look
at. A mark is never taken away; it counts as long as it is young.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from pydantic import ValidationError

from agent.wire import Report, ServiceReport
from controlplane.storage.latest_values import LatestStore, LatestValue, Subject
from events.ids import ClusterUid

AGENT_REPORT = "agent-report"
"""Kind of the latest-value rows that hold the agents' reports."""


STALE_AFTER = timedelta(seconds=30)
"""Nothing is destroyed on an observation older than this."""


@dataclass(frozen=True, slots=True)
class ReportSeen:
    """The last report of one VM's agent, and when the control plane received it."""

    report: Report
    received_at: datetime

    def is_young(self, now: datetime) -> bool:
        """Whether anything may be done on it."""
        return now - self.received_at <= STALE_AFTER

    def since(self, service: ServiceReport) -> datetime:
        """When the service came to be as it is, by our clock: how long ago that was is by the VM's."""
        return self.received_at - (self.report.at - service.since)

    def service(self, name: str) -> ServiceReport | None:
        for service in self.report.services:
            if service.name == name:
                return service
        return None


AGENT_FINDINGS = "agent-findings"
"""Kind of the latest-value rows that say of which VM's agent findings were told, and when."""


SILENT_AFTER_S = 30.0
"""A broker through which no heartbeat has come back for so long is silent: one that is started anew takes less."""


def keep_report(latest: LatestStore, cluster_uid: ClusterUid, key: str, report: Report, at: datetime) -> bool:
    """Keeps it under the key of its instance. Whether it was news. Raises StoreUnavailable."""
    *marks, row = rows_of(cluster_uid, key, report, at)
    for mark in marks:
        latest.put(mark)
    return latest.put(row)


def rows_of(cluster_uid: ClusterUid, key: str, report: Report, at: datetime) -> list[LatestValue]:
    """What is kept of a report that came at `at`: a mark where it tells that something is wrong, and itself, last."""
    row = LatestValue(
        subject=Subject(AGENT_REPORT, cluster_uid, key),
        value=report.model_dump(mode="json"),
        source="agent",
        observed_at=at,
        boot_id=report.boot_id,
        seq=report.seq,
    )
    count = sum(len(service.findings) for service in report.services)
    count += sum(h.silent_s >= SILENT_AFTER_S for h in report.heartbeats)
    count += report.preemption is not None
    if not count:
        return [row]
    return [LatestValue(Subject(AGENT_FINDINGS, cluster_uid, key), {"findings": count}, "agent", at), row]


def reports_of(latest: LatestStore, uid: ClusterUid) -> dict[str, ReportSeen]:
    """The last report of each agent of a cluster, by instance key. Raises StoreUnavailable."""
    return reports_by_key(latest.of_cluster(uid, AGENT_REPORT))


def reports_by_key(rows: Iterable[LatestValue]) -> dict[str, ReportSeen]:
    """Reports as they are kept, by the key of their instance. One that another release kept and this one cannot read is
    left out until its agent reports anew: it has not been heard, which is waited for, and no tick fails over it."""
    read = ((row, _read(row)) for row in rows)
    return {row.subject.name: ReportSeen(report, row.observed_at) for row, report in read if report is not None}


def last_report(latest: LatestStore, cluster_uid: ClusterUid, key: str) -> ReportSeen | None:
    """The last one of this instance, None where there is none that can be read. Raises StoreUnavailable."""
    kept = latest.get(Subject(AGENT_REPORT, cluster_uid, key))
    return reports_by_key([kept]).get(key) if kept is not None else None


def unhealthy_clusters(marks: Iterable[LatestValue], now: datetime) -> frozenset[ClusterUid]:
    """Clusters of which something was found a moment ago."""
    return frozenset(m.subject.cluster_uid for m in marks if now - m.observed_at <= STALE_AFTER)


def _read(row: LatestValue) -> Report | None:
    try:
        return Report.model_validate(dict(row.value))
    except ValidationError:
        return None
