"""A cluster as it was at a position of the log: what was declared, decided and in hand then."""

from typing import Annotated

import yaml
from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from controlplane.api.past import At, past_detail, past_of
from controlplane.api.past_topics import brokers_then, partitions_then
from controlplane.api.read_models.changes import changes_of
from controlplane.api.read_models.roll_stages import fold
from controlplane.api.read_models.rolls import rows_of
from controlplane.api.services import Services
from controlplane.portal.frame import page
from controlplane.portal.zones import zone_called, zone_of

router = APIRouter(prefix="/clusters/{name}", tags=["pages"], include_in_schema=False)

LAST_EVENTS = 10


@router.get("/past")
def past(
    request: Request,
    name: str,
    services: Services,
    at: At = "",
    topic: Annotated[str, Query(max_length=250)] = "",
) -> Response:
    """The state at `at`: a position or a time; without one at the newest position. With the partitions of one topic."""
    services.fleet.clusters.catch_up()
    found = past_of(services, name, at.strip() or str(max(1, services.store.head())), zone_called(zone_of(request)))
    roll = fold(found.events)
    placement = services.brokers.past_placements.then(found.view.uid, found.moment)
    detail = past_detail(found, placement.reason)
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
        placement=placement,
        brokers=brokers_then(placement),
        topic=topic.strip(),
        partitions=partitions_then(placement, topic.strip()),
        at=at,
    )
