"""Back to an earlier generation: what it would do, and the button that does it or opens the pull request."""

import uuid
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from controlplane.portal.auth import Actor
from controlplane.portal.pages.cluster import head_of
from controlplane.portal.pages.frame import Caller, CsrfChecked, onwards, page
from controlplane.portal.pages.proposals import words_of
from controlplane.portal.pullrequests import Asked
from controlplane.portal.rollback import Rollback, roll_back, rollback_of
from controlplane.portal.rollbackschemas import RollbackIn, RollbackOut
from controlplane.portal.routes.clusters import living
from controlplane.portal.services import PortalServices, Services
from controlplane.specsource import source_name
from events.spec.change import differences

router = APIRouter(prefix="/clusters/{name}", tags=["pages"], include_in_schema=False, dependencies=[CsrfChecked])


class RollbackForm(BaseModel):
    """What was shown: `digest` pins the plan, `key` makes a retry safe."""

    to: int = Field(ge=1)
    digest: str = Field(max_length=4000)
    key: str = Field(pattern="^[0-9a-f]{32}$")
    reason: str = Field(default="", max_length=300)


@router.get("/rollback")
def asked(
    request: Request, name: str, services: Services, rights: Caller, to: Annotated[int, Query(ge=0)] = 0
) -> Response:
    """What it would do, to the generation before where none is named. Nothing is recorded."""
    before = max(1, living(services, name).generation - 1)
    return _page(request, services, rights, rollback_of(services, rights, name, to or before))


@router.post("/rollback")
def done(
    request: Request, name: str, services: Services, rights: Caller, actor: Actor, form: Annotated[RollbackForm, Form()]
) -> Response:
    """Does what was shown, or shows what it would do by now."""
    found = rollback_of(services, rights, name, form.to)
    if not found.judged.ok or found.judged.digest != form.digest:
        return _page(request, services, rights, found, has_moved=found.judged.ok, status=422)
    order = RollbackIn(to=form.to, reason=form.reason, plan_digest=form.digest)
    told = roll_back(services, found, order, Asked(rights, actor, form.key))
    if told.request is not None:
        return _page(request, services, rights, found, opened=told)
    return onwards(request, f"/proposals/{told.proposal}" if told.proposal else f"/clusters/{name}/history")


def _page(
    request: Request,
    services: PortalServices,
    rights: Caller,
    found: Rollback,
    *,
    has_moved: bool = False,
    opened: RollbackOut | None = None,
    status: int = 200,
) -> Response:
    assert found.view.document is not None
    return page(
        request,
        "rollback.html",
        status=status,
        head=head_of(request, services, rights, found.view),
        tab="history",
        found=found,
        source=source_name(found.view),
        changes=differences(found.view.document, found.document),
        plan=words_of(found.judged) if found.judged.ok else [],
        has_moved=has_moved,
        opened=opened.request if opened is not None else None,
        key=uuid.uuid4().hex,
    )
