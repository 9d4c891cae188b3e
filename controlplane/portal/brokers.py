"""The brokers of a cluster: a table, the same as CSV, and a page for each."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from agent.wire import FindingReport
from controlplane.api.access.caller import Caller
from controlplane.api.cluster_lookup import living
from controlplane.api.presenters import instances as instance_answers
from controlplane.api.presenters.figures import broker_figures_out, cluster_forecasts
from controlplane.api.presenters.instances import agents_of_cluster
from controlplane.api.presenters.quorum import quorum_out
from controlplane.api.problems import ApiError
from controlplane.api.read_models.broker_figures import FRESH, newest
from controlplane.api.read_models.brokers import COLUMNS, SORTS, chosen, hosted_like, role_on, value_of
from controlplane.api.read_models.cluster_words import STALE
from controlplane.api.routes.brokers import brokers_of
from controlplane.api.routes.topics import is_recorded, topics_seen
from controlplane.api.schemas.figures import BrokerFiguresOut
from controlplane.api.services import Services
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.questions.running.restart_safety import RestartSafety, restart_safety
from controlplane.converger.situation.observation import Observation
from controlplane.converger.situation.situation import Situation
from controlplane.portal.broker_settings import wanted_by
from controlplane.portal.cluster import head_of
from controlplane.portal.csv_rows import csv_answer
from controlplane.portal.frame import page
from planner.broker_answers import ValueOrigin
from planner.observed import KafkaSnapshot

router = APIRouter(prefix="/clusters/{name}", tags=["pages"], include_in_schema=False)

MOST_PARTITIONS = 500
"""Shown on one page; the search narrows them down."""

Text = Annotated[str, Query(max_length=100)]


@router.get("/brokers")
def brokers(
    request: Request, name: str, services: Services, rights: Caller, q: Text = "", sort: Text = "id", down: bool = False
) -> Response:
    """The table."""
    view = living(services, name)
    every = brokers_of(request, services, view)
    return page(
        request,
        "brokers.html",
        head=head_of(request, services, rights, view),
        tab="brokers",
        rows=chosen(every, text=q, sort=sort, down=down),
        total=len(every),
        snapshot=topics_seen(services, view.uid),
        recorded=is_recorded(services, view.uid),
        rates=services.fleet.clusters.traffic(view.uid).words(services.clock()),
        quorum=quorum_out(view, services.fleet.clusters.last_snapshot(view.uid)),
        q=q,
        sort=sort if sort in SORTS else "id",
        down=down,
    )


@router.get("/brokers.csv")
def brokers_csv(
    request: Request, name: str, services: Services, q: Text = "", sort: Text = "id", down: bool = False
) -> Response:
    """The same rows as comma-separated values."""
    view = living(services, name)
    rows = chosen(brokers_of(request, services, view), text=q, sort=sort, down=down)
    return csv_answer(f"{view.name}-brokers.csv", COLUMNS, rows, value=value_of)


@router.get("/brokers/{broker}")
def broker_detail(
    request: Request, name: str, broker: int, services: Services, rights: Caller, q: Text = ""
) -> Response:
    """One broker: may it be restarted now, by metadata this server read, and what it holds, as far as anybody read."""
    view = living(services, name)
    row = next((r for r in brokers_of(request, services, view) if r.id == broker), None)
    if row is None:
        then = f"The brokers of {name} are listed on its page."
        raise ApiError(404, "broker-not-found", f"{name} has no broker {broker}", next_step=then)
    if row.external:
        then = f"All that is known of it is in the list of brokers of {name}."
        raise ApiError(404, "external-broker", f"broker {broker} of {name} is run by others", next_step=then)
    instance = next(i for i in view.brokers() if i.service_id == broker)
    snapshot = services.fleet.clusters.last_snapshot(view.uid)
    placed = topics_seen(services, view.uid)
    hosted = placed.hosted_by(broker) if placed else ()
    shown = hosted_like(hosted, q)
    agents = agents_of_cluster(services, view, services.clock())
    return page(
        request,
        "broker.html",
        head=head_of(request, services, rights, view),
        tab="brokers",
        row=row,
        instance=instance,
        snapshot=snapshot,
        safety=_safety(view, instance, snapshot, agents, services.clock()),
        is_stale=snapshot is not None and services.clock() - snapshot.at > STALE,
        dirs=snapshot.log_dirs.get(broker) if snapshot else None,
        agent=agents.get(instance.key),
        measured=_measured(services, view, broker),
        forecasts=[one for one in cluster_forecasts(services, view) if one.broker == broker],
        findings=_findings(agents.get(instance.key), instance),
        ours=frozenset(i.service_id for i in view.brokers()),
        partitions=shown[:MOST_PARTITIONS],
        role_on=role_on,
        placed=placed,
        recorded=is_recorded(services, view.uid),
        found=len(shown),
        hosted=len(hosted),
        settings=[(n, v, wanted_by(view, instance, n, ValueOrigin.FILE)) for n, v in sorted(instance.settings.items())],
        q=q,
    )


def _measured(services: Services, view: ClusterView, broker: int) -> BrokerFiguresOut | None:
    """Its newest minute in the metric lake, where that is young."""
    now = services.clock()
    found = newest(services.brokers.windows.figures(view.uid, now - FRESH, now), now).get(broker)
    return broker_figures_out(found) if found is not None else None


def _safety(
    view: ClusterView,
    instance: InstanceView,
    snapshot: KafkaSnapshot | None,
    agents: Mapping[str, instance_answers.AgentSeen],
    now: datetime,
) -> RestartSafety | None:
    """By the very gate each restart waits for. None where it is not asked: no metadata, or the node is not settled."""
    if snapshot is None or instance.lost or instance.phase is not Phase.JOINED:
        return None
    reports = {key: agent.report for key, agent in agents.items() if agent.report is not None}
    return restart_safety(Situation(view, Observation(kafka=snapshot, reports=reports), now), snapshot, instance)


def _findings(agent: instance_answers.AgentSeen | None, instance: InstanceView) -> Sequence[FindingReport]:
    service = agent.report.service(instance.planned.service) if agent and agent.report else None
    return service.findings if service else ()
