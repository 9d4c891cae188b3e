"""The git sources, as their last poll left them."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from controlplane.api.presenters.sources import source_out
from controlplane.api.services import Services
from controlplane.portal.frame import page

router = APIRouter(tags=["pages"], include_in_schema=False)

TONES = {"Synced": "good", "OutOfSync": "warn", "Refused": "bad", "Unknown": "mute"}


@router.get("/sources")
def sources(request: Request, services: Services) -> Response:
    """All the caller may see, by name."""
    service = services.fleet.sources
    found = service.statuses(leads=services.operations.leadership.may_act) if service is not None else []
    shown = [source_out(s, services.fleet.forges.get(s.binding.name)) for s in found]
    return page(request, "sources.html", sources=shown, tones=TONES)
