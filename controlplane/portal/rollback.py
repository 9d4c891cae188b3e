"""Back to an earlier generation, or declaration of a topic: what it would do, and the button that has it done."""

import uuid
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Form, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from controlplane.api.access.caller import Caller
from controlplane.api.auth import Actor
from controlplane.api.cluster_lookup import living
from controlplane.api.presenters.judged_text import words_of
from controlplane.api.pull_requests import Requester
from controlplane.api.request_identity import asked_id
from controlplane.api.rollback import Rollback, roll_back, rollback_of
from controlplane.api.schemas.rollbacks import RollbackIn, RollbackOut
from controlplane.api.services import PortalServices, Services
from controlplane.api.topic_rollback import declarations_of, topic_rollback_of
from controlplane.portal.cluster import head_of
from controlplane.portal.frame import CsrfChecked, onwards, page

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
    return _done(request, services, found, form, Requester(rights, actor, asked_id(rights, form.key)))


@router.get("/topics/{topic}/declarations")
def declarations(request: Request, name: str, topic: str, services: Services, rights: Caller) -> Response:
    """What was declared of a topic, and the way back to it."""
    told = declarations_of(services, name, topic)
    head = head_of(request, services, rights, living(services, name))
    known = head.view.topics.by_name.get(topic)
    is_kept = known is not None and not known.tombstone
    return page(request, "topicdeclarations.html", head=head, tab="topics", topic=topic, told=told, is_kept=is_kept)


@router.get("/topics/{topic}/rollback")
def asked_of_topic(
    request: Request, name: str, topic: str, services: Services, rights: Caller, to: Annotated[int, Query(ge=1)] = 1
) -> Response:
    """As for a cluster, to the first declaration where none is named."""
    return _page(request, services, rights, topic_rollback_of(services, rights, name, topic, to))


@router.post("/topics/{topic}/rollback")
def done_to_topic(
    request: Request,
    name: str,
    topic: str,
    services: Services,
    rights: Caller,
    actor: Actor,
    form: Annotated[RollbackForm, Form()],
) -> Response:
    """As for a cluster."""
    found = topic_rollback_of(services, rights, name, topic, form.to)
    return _done(request, services, found, form, Requester(rights, actor, asked_id(rights, form.key)))


def _done(
    request: Request, services: PortalServices, found: Rollback, form: RollbackForm, asked: Requester
) -> Response:
    asked.rights.trail.refused = found.judged.refusal
    if not found.judged.ok or found.digest != form.digest:
        return _page(request, services, asked.rights, found, has_moved=found.judged.ok, status=422)
    order = RollbackIn(to=form.to, reason=form.reason, plan_digest=form.digest)
    out = roll_back(services, found, order, asked)
    if out.request is not None:
        return _page(request, services, asked.rights, found, opened=out)
    home = f"/clusters/{found.view.name}"
    then = f"{home}/topics/{quote(found.topic, safe='')}/declarations" if found.topic else f"{home}/history"
    return onwards(request, f"/proposals/{out.proposal}" if out.proposal else then)


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
    return page(
        request,
        "rollback.html",
        status=status,
        head=head_of(request, services, rights, found.view),
        tab="topics" if found.topic else "history",
        found=found,
        plan=words_of(found.judged) if found.judged.ok else [],
        has_moved=has_moved,
        opened=opened.request if opened is not None else None,
        key=uuid.uuid4().hex,
    )
