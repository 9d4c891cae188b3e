"""The consumer groups of a cluster: a table, and a page for each with its lag by partition."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from controlplane.api.access.caller import Caller
from controlplane.api.cluster_lookup import living
from controlplane.api.presenters.groups import SORTS, TONES, chosen_groups, group_out
from controlplane.api.routes.groups import AnyName, group_named, looked
from controlplane.api.schemas.groups import GroupOut
from controlplane.api.services import PortalServices, Services
from controlplane.background.consumer_groups.resets import reset_words
from controlplane.cluster.observed.consumer_groups import kept_lags
from controlplane.cluster.view import ClusterView
from controlplane.kafka.errors import KafkaFault
from controlplane.portal import charts, cluster, csv_rows, frame
from planner.consumers.reported import READING, GroupsStatus, beyond_words

router = APIRouter(prefix="/clusters/{name}", tags=["pages"], include_in_schema=False)

MOST_ROWS = 500
"""Shown on one page; the search narrows them down, the CSV has all."""

Text = Annotated[str, Query(max_length=250)]


@router.get("/groups")
def groups(
    request: Request,
    name: str,
    services: Services,
    rights: Caller,
    q: Text = "",
    topic: Text = "",
    sort: Text = "name",
    down: bool = False,
) -> Response:
    """The table; with `topic` of the groups that read it, or did. Where Kafka cannot be asked the page says why."""
    view = living(services, name)
    told, fault = _looked(services, view)
    found = chosen_groups(told.groups, text=q, topic=topic, sort=sort, down=down) if told else []
    return frame.page(
        request,
        "groups.html",
        head=cluster.head_of(request, services, rights, view),
        tab="groups",
        told=told,
        fault=fault,
        rows=[group_out(view.name, g) for g in found[:MOST_ROWS]],
        found=len(found),
        tones=TONES,
        q=q,
        topic=topic,
        sort=sort if sort in SORTS else "name",
        down=down,
    )


@router.get("/groups.csv")
def groups_csv(
    name: str, services: Services, q: Text = "", topic: Text = "", sort: Text = "name", down: bool = False
) -> Response:
    """All groups that match as comma-separated values. 503 while Kafka cannot be asked."""
    view = living(services, name)
    found = looked(services, view)
    rows = [group_out(view.name, g) for g in chosen_groups(found.groups, text=q, topic=topic, sort=sort, down=down)]
    why = f"more groups than one look reads: {found.left_out} not read"
    cut = csv_rows.Cut(why) if found.left_out else None
    return csv_rows.csv_answer(f"{view.name}-groups{'-cut' if cut else ''}.csv", list(GroupOut.model_fields), rows, cut)


@router.get("/groups/{group:path}")
def group_detail_page(
    request: Request, name: str, group: str, services: Services, rights: Caller, ailing: bool = False
) -> Response:
    """One group, a row a partition; with `ailing` those alone that somebody does not just read."""
    view = living(services, name)
    told, fault = _looked(services, view)
    found = group_named(view, told, group) if told else None
    every = found.partitions if found else ()
    shown = [p for p in every if p.state != READING] if ailing else list(every)
    return frame.page(
        request,
        "group.html",
        head=cluster.head_of(request, services, rights, view),
        tab="groups",
        name=group,
        group=found,
        fault=fault,
        rows=shown[:MOST_ROWS],
        found=len(shown),
        ails=sum(p.state != READING for p in every),
        tones=TONES,
        beyond_words=beyond_words,
        ailing=ailing,
        lags=charts.lag_chart(kept_lags(services.cluster.latest, view.uid).get(group, ())),
        last_reset=reset_words(view.requests.resets[group]) if group in view.requests.resets else "",
        reset_at=view.requests.resets[group].at if group in view.requests.resets else None,
        topics=sorted({p.topic for p in every}),
    )


@router.get("/group")
def group_of_any_name(
    request: Request, name: str, services: Services, rights: Caller, group: AnyName = "", ailing: bool = False
) -> Response:
    """The same page for a group whose name cannot be a part of a path."""
    return group_detail_page(request, name, group, services, rights, ailing)


def _looked(services: PortalServices, view: ClusterView) -> tuple[GroupsStatus | None, str]:
    """The groups, or why they could not be read."""
    try:
        return services.brokers.groups.look(view), ""
    except KafkaFault as fault:
        return None, str(fault)
