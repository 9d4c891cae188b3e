"""The image catalogue: every revision with who is on it, who still has to roll, and what each waits for."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from controlplane.api.presenters.images import image_named, images_out
from controlplane.api.services import Services
from controlplane.portal.frame import page

router = APIRouter(tags=["pages"], include_in_schema=False)


@router.get("/images")
def images(request: Request, services: Services, of: Annotated[str, Query(max_length=40)] = "") -> Response:
    """The catalogue, the newest first, or one revision cluster by cluster. Clusters that one may not read are left
    out of both."""
    statuses = services.fleet.images.statuses()
    if of:
        return page(request, "image.html", image=image_named(of, statuses))
    return page(request, "images.html", images=images_out(statuses).items)
