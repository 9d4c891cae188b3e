"""Gathers a sight from what the portal has at hand: no broker and no cloud is asked, the database three times."""

from collections import defaultdict
from datetime import datetime

from agent.wire import Report
from controlplane.converger.ports import AGENT_REPORT
from controlplane.dns.keeper import DNS_NAME
from controlplane.groups.record import GROUPS_NOTED, notes_of
from controlplane.portal.answers import status_word
from controlplane.portal.services import PortalServices
from controlplane.portal.sourceanswers import spec_source_out
from controlplane.telemetry.sight import ClusterSight, Sight


def sight_of(services: PortalServices) -> Sight:
    """Everything as far as the caller may see it. Raises StoreUnavailable."""
    reports: dict[str, dict[str, tuple[Report, datetime]]] = defaultdict(dict)
    for seen in services.latest.of_kind(AGENT_REPORT):
        told = (Report.model_validate(dict(seen.value)), seen.observed_at)
        reports[seen.subject.cluster_uid][seen.subject.name] = told
    names: dict[str, dict[str, str]] = defaultdict(dict)
    for seen in services.latest.of_kind(DNS_NAME):
        names[seen.subject.cluster_uid][seen.subject.name] = str(seen.value["problem"])
    groups = notes_of(services.latest.of_kind(GROUPS_NOTED))
    now, fleet, desk = services.clock(), services.fleet, services.sources
    living = [v for v in fleet.views() if not v.deleted]
    clusters = tuple(
        ClusterSight(
            view=view,
            status=status_word(view, now),
            said=fleet.said(view.uid),
            snapshot=fleet.last_snapshot(view.uid),
            reports={i.key: reports[view.uid][i.key] for i in view.alive() if i.key in reports[view.uid]},
            names=names[view.uid],
            groups=groups.get(view.uid),
            source_sync=spec_source_out(view, desk.board.of_source if desk is not None else lambda _: None).sync,
        )
        for view in living
    )
    leadership = services.leadership
    return Sight(
        now=now,
        version=services.version,
        leads=leadership.may_act,
        epoch=leadership.held_epoch() or 0,
        planner=services.planner_state(),
        clusters=clusters,
    )
