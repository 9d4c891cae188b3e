"""Gathers a snapshot from what the portal has at hand: no broker and no cloud is asked, the database a few times."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from agent.wire import Report
from controlplane.api.access.rights import Forbidden
from controlplane.api.metrics.snapshot import ClusterSnapshot, PairSnapshot, ServerSnapshot
from controlplane.api.presenters.conditions import status_word
from controlplane.api.presenters.sources import spec_source_out
from controlplane.api.read_models.broker_figures import FRESH, newest
from controlplane.api.services import PortalServices
from controlplane.background.anomalies.forecasts import forecasts_of
from controlplane.background.anomalies.record import ANOMALIES_NOTED, noted_of
from controlplane.background.dns.records import DNS_NAME
from controlplane.background.metric_pipeline.sources import SHARED
from controlplane.background.notifications.service import NotifierSeen
from controlplane.cluster.observed.agent_reports import AGENT_REPORT, seen_in
from controlplane.cluster.observed.cloud_drift import all_audits
from controlplane.cluster.observed.consumer_groups import GROUPS_NOTED, notes_of
from controlplane.cluster.view import ClusterView
from controlplane.storage.latest_values import LatestStore
from events.ids import ClusterUid
from spark.pipeline.status import PipelineStatus


def server_snapshot(services: PortalServices) -> ServerSnapshot:
    """Everything as far as the caller may see it. Raises StoreUnavailable."""
    names: dict[str, dict[str, str]] = defaultdict(dict)
    for seen in services.cluster.latest.of_kind(DNS_NAME):
        names[seen.subject.cluster_uid][seen.subject.name] = str(seen.value["problem"])
    groups = notes_of(services.cluster.latest.of_kind(GROUPS_NOTED))
    anomalies = noted_of(services.cluster.latest.of_kind(ANOMALIES_NOTED))
    drift = all_audits(services.cluster.latest)
    now, fleet, service = services.clock(), services.fleet.clusters, services.fleet.sources
    trends = services.brokers.windows.trends()
    living = [v for v in fleet.views() if not v.deleted]
    reports = _reports(services.cluster.latest, living)
    clusters = tuple(
        ClusterSnapshot(
            view=view,
            status=status_word(view, now),
            said=fleet.said(view.uid),
            snapshot=fleet.last_snapshot(view.uid),
            reports=reports[view.uid],
            names=names[view.uid],
            groups=groups.get(view.uid),
            anomalies=anomalies.get(view.uid),
            drift=drift.get(view.uid, {}),
            forecasts=forecasts_of(view, fleet.last_snapshot(view.uid), trends.get(view.uid), now.date()),
            measured=newest(services.brokers.windows.figures(view.uid, now - FRESH, now), now),
            source_sync=spec_source_out(view, service.polled.of_source if service is not None else lambda _: None).sync,
        )
        for view in living
    )
    leadership = services.operations.leadership
    return ServerSnapshot(
        now=now,
        version=services.operations.version,
        leads=leadership.may_act,
        epoch=leadership.held_epoch() or 0,
        planner=services.operations.planner_state(),
        clusters=clusters,
        pairs=_pairs(services, {str(view.uid): view.name for view in fleet.views()}),
        notifiers=_notifiers(services),
        audit_topic=services.access.audit_topic(),
        pipeline=_pipeline(services, {str(view.uid): view.name for view in living}),
        plans=services.operations.plans(),
        load=services.operations.load.figures(services.operations.database_trouble()),
        part=services.operations.part,
        is_ready=not services.operations.why_not_ready(),
    )


def process_snapshot(services: PortalServices) -> ServerSnapshot:
    """This process alone, without the fleet. Asks nobody."""
    operations = services.operations
    return ServerSnapshot(
        now=services.clock(),
        version=operations.version,
        leads=operations.leadership.may_act,
        epoch=operations.leadership.held_epoch() or 0,
        planner="",
        clusters=(),
        load=operations.load.figures(operations.database_trouble()),
        part=operations.part,
        is_ready=not operations.why_not_ready(),
    )


def _reports(
    latest: LatestStore, living: Sequence[ClusterView]
) -> Mapping[ClusterUid, Mapping[str, tuple[Report, datetime]]]:
    """By cluster and instance, with when it was heard. What VMs said that are gone costs nothing here, and one report
    that cannot be read leaves all others: it is as if that agent had not been heard."""
    found: dict[ClusterUid, dict[str, tuple[Report, datetime]]] = {view.uid: {} for view in living}
    alive = {(view.uid, instance.key) for view in living for instance in view.alive()}
    for row in latest.of_kind(AGENT_REPORT):
        uid, key = row.subject.cluster_uid, row.subject.name
        if (uid, key) in alive and (seen := seen_in(row)) is not None:
            found[uid][key] = seen.report, row.observed_at
    return found


def _pipeline(services: PortalServices, names: Mapping[str, str]) -> PipelineStatus | None:
    """Of clusters the caller may not see, nothing."""
    status = services.operations.pipeline()
    if status is None:
        return None
    mine = [(names.get(s.name.removeprefix(SHARED)), s) for s in status.streams]
    return replace(status, streams=tuple(replace(stream, name=name) for name, stream in mine if name is not None))


def _pairs(services: PortalServices, names: Mapping[str, str]) -> tuple[PairSnapshot, ...]:
    found = []
    for pair in services.fleet.failovers.pairs().living:
        view, troubles = pair.view, services.fleet.failovers.troubles(pair)
        if view.name and not view.is_withdrawn and not view.unreadable:
            primary, standby = (names.get(uid, uid) for uid in (view.primary, view.standby))
            copy = troubles.copy.copy if troubles.copy is not None else None
            found.append(
                PairSnapshot(
                    pair.name, primary, standby, str(view.state), view.is_warm, troubles.is_copying(view), copy
                )
            )
    return tuple(found)


def _notifiers(services: PortalServices) -> Sequence[NotifierSeen]:
    try:
        return services.fleet.notifiers.all()
    except Forbidden:
        return ()  # an administrator's: others see their clusters
