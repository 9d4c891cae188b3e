"""Anomalies as the API and the pages tell them. Pure."""

from collections.abc import Sequence
from datetime import datetime

from controlplane.api.schemas import anomalies as anomaly_api
from controlplane.background.anomalies.fold import AnomalyFold
from controlplane.background.anomalies.status import grace_of
from controlplane.background.notifications.outbox import NotifierStatus
from controlplane.background.notifications.service import NotifierSeen
from controlplane.cluster.condition_severity import severity_of_anomaly
from controlplane.cluster.healing_switches import in_force, why_not
from controlplane.cluster.view import ClusterView
from planner.anomalies.judge import Anomaly
from planner.anomalies.kinds import HEALED, Kind, State

TONES = {
    State.WAITING: "bad",
    State.HEALING: "busy",
    State.FOUND: "warn",
    State.SUPPRESSED: "",
    State.OVER: "good",
}
"""The colour of a state."""

IN_WORDS = {
    State.FOUND: "found, may pass by itself",
    State.SUPPRESSED: "Kedge's own doing",
    State.HEALING: "being healed",
    State.WAITING: "waits",
    State.OVER: "over",
}
OPEN = "open"
"""The filter for all states but `over`."""


def chosen_anomalies(fold: AnomalyFold, *, text: str = "", kind: str = "", state: str = "") -> list[Anomaly]:
    """Those with the text in subject, reason or words, of that kind and in that state, open ones first."""
    wanted = text.casefold()
    return [
        a
        for a in fold.every()
        if (not kind or a.kind == kind)
        and (not state or a.state == state or (state == OPEN and not a.is_over))
        and wanted in f"{a.id} {a.subject} {a.reason} {a.words}".casefold()
    ]


def anomalies_out(
    view: ClusterView, fold: AnomalyFold, chosen: Sequence[Anomaly], *, limit: int, now: datetime
) -> anomaly_api.AnomaliesOut:
    """The first of those chosen, and how each kind is healed."""
    return anomaly_api.AnomaliesOut(
        cluster=view.name,
        anomalies=[anomaly_out(view.name, a) for a in chosen[:limit]],
        total=len(chosen),
        open=len(fold.open_),
        found=fold.found,
        healing=healing_out(view, now),
    )


def anomaly_out(cluster: str, anomaly: Anomaly) -> anomaly_api.AnomalyOut:
    return anomaly_api.AnomalyOut.like(
        anomaly,
        cluster=cluster,
        kind=anomaly.kind.value,
        state=anomaly.state.value,
        told=anomaly.notified,
        severity=severity_of_anomaly(anomaly.kind, anomaly.subject),
    )


def healing_out(view: ClusterView, now: datetime) -> list[anomaly_api.HealingOut]:
    """Each kind with its switch and its grace."""
    found = []
    for kind in (k for k in Kind if k in HEALED):
        switch, reason = in_force(view, kind, now), why_not(view, kind, now)
        until = switch.until if switch else None
        grace_s = grace_of(view, kind).total_seconds()
        found.append(
            anomaly_api.HealingOut(kind=kind.value, heals=not reason, why_not=reason, until=until, grace_s=grace_s)
        )
    return found


def notifier_out(notifier: NotifierSeen) -> anomaly_api.NotifierOut:
    """One notifier; one that has not looked yet has nothing to tell."""
    binding, status = notifier.binding, notifier.status or NotifierStatus(0)
    return anomaly_api.NotifierOut.like(
        binding,
        group_s=binding.gathers_s,
        waiting=status.waiting,
        delivered=status.delivered,
        dropped=status.dropped,
        error=status.error,
        failing_since=status.failing_since,
        told_at=status.told_at,
    )
