"""Notifiers of the settings, for administrators: how each does, and a test notice for one."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from controlplane.api.access.caller import Caller
from controlplane.api.presenters.anomalies import notifier_out
from controlplane.api.services import PortalServices, Services
from controlplane.background.notifications.delivery import NotDelivered
from controlplane.background.notifications.service import NotifierNotFound
from controlplane.cluster.commands import CommandRefused
from controlplane.portal.frame import CsrfChecked, page

router = APIRouter(prefix="/notifiers", tags=["pages"], include_in_schema=False, dependencies=[CsrfChecked])


@router.get("")
def notifiers(request: Request, services: Services) -> Response:
    """Those of the settings, by name."""
    return _page(request, services)


@router.post("/{name}/test")
def test(request: Request, name: str, services: Services, rights: Caller) -> Response:
    """Tells that notifier now that this is a test; the page says whether it took it."""
    try:
        services.fleet.notifiers.test(name)
    except NotifierNotFound:
        return _page(request, services, problem=f"There is no notifier {name!r}.")
    except (NotDelivered, CommandRefused) as error:
        rights.trail.refused = f"{name} was not told"
        return _page(request, services, problem=f"{name} did not take it: {error}")
    return _page(request, services, taken=f"{name} took the test notice.")


def _page(request: Request, services: PortalServices, *, problem: str = "", taken: str = "") -> Response:
    """409 with a problem: it is one of the settings or of who is told, not of the request."""
    rows = [notifier_out(notifier) for notifier in services.fleet.notifiers.all()]
    return page(request, "notifiers.html", status=409 if problem else 200, rows=rows, problem=problem, taken=taken)
