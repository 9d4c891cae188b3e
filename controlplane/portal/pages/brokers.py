"""The brokers of a cluster: a table, the same as CSV, and a page for each."""

import csv
import io
from dataclasses import fields
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from controlplane.converger.ports import AGENT_REPORT
from controlplane.portal import answers
from controlplane.portal.pages.brokerrows import SORTS, BrokerRow, broker_rows, chosen, safety_of
from controlplane.portal.pages.cluster import head_of
from controlplane.portal.pages.frame import PAGE_HEADERS, Caller, page
from controlplane.portal.problems import ApiError
from controlplane.portal.routes.clusters import living
from controlplane.portal.services import PortalServices, Services
from controlplane.view import ClusterView

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
    snapshot = services.fleet.last_snapshot(view.uid)
    every = _rows(services, view)
    return page(
        request,
        "brokers.html",
        head=head_of(request, services, rights, view),
        tab="brokers",
        rows=chosen(every, text=q, sort=sort, down=down),
        total=len(every),
        snapshot=snapshot,
        rates=services.fleet.traffic(view.uid).words(services.clock()),
        q=q,
        sort=sort if sort in SORTS else "id",
        down=down,
    )


@router.get("/brokers.csv")
def brokers_csv(name: str, services: Services, q: Text = "", sort: Text = "id", down: bool = False) -> Response:
    """The same rows as comma-separated values (RFC 4180), figures plain."""
    view = living(services, name)
    rows = chosen(_rows(services, view), text=q, sort=sort, down=down)
    headers = {**PAGE_HEADERS, "Content-Disposition": f'attachment; filename="{view.name}-brokers.csv"'}
    return Response(csv_of(rows), media_type="text/csv; charset=utf-8", headers=headers)


@router.get("/brokers/{broker}")
def broker_detail(
    request: Request, name: str, broker: int, services: Services, rights: Caller, q: Text = ""
) -> Response:
    """One broker: may it be restarted now, and what it holds."""
    view = living(services, name)
    row = next((r for r in _rows(services, view) if r.id == broker), None)
    if row is None:
        then = f"The brokers of {name} are listed on its page."
        raise ApiError(404, "broker-not-found", f"{name} has no broker {broker}", next_step=then)
    instance = next(i for i in view.brokers() if i.service_id == broker)
    snapshot = services.fleet.last_snapshot(view.uid)
    excused = frozenset(view.document.spec.rollout.allow_unavailable) if view.document else frozenset[str]()
    hosted = snapshot.hosted_by(broker) if snapshot else ()
    shown = [p for p in hosted if q.strip().lower() in str(p.name).lower()]
    agents = answers.agents_seen(
        services.latest.of_cluster(view.uid, AGENT_REPORT),
        services.credentials.of_cluster(view.uid).values(),
        credential_life=services.credential_life,
        now=services.clock(),
    )
    return page(
        request,
        "broker.html",
        head=head_of(request, services, rights, view),
        tab="brokers",
        row=row,
        instance=instance,
        snapshot=snapshot,
        safety=safety_of(snapshot, broker, excused) if snapshot else None,
        dirs=snapshot.log_dirs.get(broker) if snapshot else None,
        agent=agents.get(instance.key),
        partitions=sorted(shown, key=lambda p: p.name)[:MOST_PARTITIONS],
        found=len(shown),
        hosted=len(hosted),
        q=q,
    )


def csv_of(rows: list[BrokerRow]) -> str:
    """A header and a line a broker. A cell that a spreadsheet would take for a formula gets an apostrophe."""
    names = [f.name for f in fields(BrokerRow)]
    text = io.StringIO()
    written = csv.writer(text)
    written.writerow(names)
    for row in rows:
        written.writerow([_cell(getattr(row, n)) for n in names])
    return text.getvalue()


def _cell(value: object) -> object:
    is_formula = isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{value}" if is_formula else "" if value is None else value


def _rows(services: PortalServices, view: ClusterView) -> list[BrokerRow]:
    return broker_rows(view, services.fleet.last_snapshot(view.uid), services.fleet.traffic(view.uid))
