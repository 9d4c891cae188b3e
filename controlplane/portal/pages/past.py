"""A cluster as it was at a position of the log: what was declared, decided and in hand then."""

import yaml
from fastapi import APIRouter, Request
from starlette.responses import Response

from controlplane.portal.pages.changes import changes_of
from controlplane.portal.pages.frame import page
from controlplane.portal.pages.rollout import rows_of
from controlplane.portal.pages.stages import fold
from controlplane.portal.pages.zones import zone_called, zone_of
from controlplane.portal.past import NOT_KEPT, At, past_detail, past_of
from controlplane.portal.services import Services

router = APIRouter(prefix="/clusters/{name}", tags=["pages"], include_in_schema=False)

LAST_EVENTS = 10


@router.get("/past")
def past(request: Request, name: str, services: Services, at: At = "") -> Response:
    """The state at `at`: a position or a time; without one at the newest position."""
    services.fleet.catch_up()
    found = past_of(services, name, at.strip() or str(max(1, services.store.head())), zone_called(zone_of(request)))
    roll = fold(found.events)
    detail = past_detail(found)
    text = yaml.safe_dump(detail.document, sort_keys=False, allow_unicode=True)
    return page(
        request,
        "past.html",
        past=found,
        detail=detail,
        roll=roll,
        nodes=rows_of(roll, ()),
        text=text,
        changes=changes_of(found.events[-LAST_EVENTS:]),
        newest=services.store.head(),
        not_kept=NOT_KEPT,
        at=at,
    )
