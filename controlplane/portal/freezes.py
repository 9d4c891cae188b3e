"""Freezes: what is frozen until when and why, declaring one, and ending one before its time."""

import re
import uuid
from typing import Annotated

from fastapi import APIRouter, Form, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from controlplane.api.access.caller import Caller
from controlplane.api.access.rights import Forbidden
from controlplane.api.auth import Actor
from controlplane.api.presenters.freezes import freezes_out
from controlplane.api.request_identity import asked_id
from controlplane.api.services import PortalServices, Services
from controlplane.cluster.commands import ClusterNotFound, CommandRefused
from controlplane.fleet.freezes.commands import WantedFreeze
from controlplane.portal.frame import CsrfChecked, onwards, page
from controlplane.portal.zones import moment_of_field

router = APIRouter(prefix="/freezes", tags=["pages"], include_in_schema=False, dependencies=[CsrfChecked])

_PRINTABLE = r"^[^\x00-\x1f\x7f]*$"
_KEY = r"^[0-9a-f]{32}$"


class FreezeForm(BaseModel):
    """A freeze as a person writes it: names are parted by commas or spaces, labels are `key=value`. `key` makes a
    retry safe."""

    until: str = Field(default="", max_length=40)
    reason: str = Field(default="", max_length=200, pattern=_PRINTABLE)
    clusters: str = Field(default="", max_length=4000, pattern=_PRINTABLE)
    teams: str = Field(default="", max_length=4000, pattern=_PRINTABLE)
    labels: str = Field(default="", max_length=4000, pattern=_PRINTABLE)
    everything: bool = False
    silence: bool = False
    key: str = Field(default_factory=lambda: uuid.uuid4().hex, pattern=_KEY)


@router.get("")
def freezes(request: Request, services: Services, past: bool = False) -> Response:
    """Those that hold something the caller may read; `past`: those that are over, too."""
    return _page(request, services, past=past)


@router.post("")
def freeze(
    request: Request, services: Services, rights: Caller, actor: Actor, form: Annotated[FreezeForm, Form()]
) -> Response:
    """Nothing voluntary begins on what is named until then. A form that makes no sense comes back with the reason."""
    until, pairs = moment_of_field(request, form.until), [pair.partition("=") for pair in _named(form.labels)]
    problem = "" if until else f"{form.until!r} is not a time: write it as in 2026-01-31T14:00"
    problem = problem or ("" if form.reason.strip() else "give a reason: it is shown to whoever waits")
    problem = problem or ("" if all(k and v for k, _, v in pairs) else "a label is written as key=value")
    if until is None or problem:
        return _page(request, services, form=form, problem=problem, status=422)
    wanted = WantedFreeze(
        until=until,
        reason=form.reason.strip(),
        clusters=_named(form.clusters),
        teams=_named(form.teams),
        labels=tuple(sorted((k, v) for k, _, v in pairs)),
        everything=form.everything,
        silence=form.silence,
    )
    try:
        services.fleet.freezes.declare(wanted, actor=actor, command_id=asked_id(rights, form.key))
    except ClusterNotFound as unknown:
        return _page(request, services, form=form, problem=str(unknown), status=422)
    except (CommandRefused, Forbidden) as refused:
        status = 403 if isinstance(refused, Forbidden) else 409
        return _page(request, services, form=form, problem=str(refused), status=status)
    services.cluster.wake("")
    return onwards(request, "/freezes")


@router.post("/{name}/thaw")
def thaw(
    request: Request,
    name: str,
    services: Services,
    rights: Caller,
    actor: Actor,
    reason: Annotated[str, Form(max_length=200, pattern=_PRINTABLE)] = "",
    key: Annotated[str, Form(pattern=_KEY)] = "",
) -> Response:
    """What it held goes on, where no other freeze holds it."""
    why = reason.strip() or "no reason given"
    services.fleet.freezes.thaw(name, reason=why, actor=actor, command_id=asked_id(rights, key) or uuid.uuid4().hex)
    services.cluster.wake("")
    return onwards(request, "/freezes")


def _named(text: str) -> tuple[str, ...]:
    return tuple(sorted({name for name in re.split(r"[,\s]+", text) if name}))


def _page(
    request: Request,
    services: PortalServices,
    *,
    past: bool = False,
    form: FreezeForm | None = None,
    problem: str = "",
    status: int = 200,
) -> Response:
    found = services.fleet.freezes.status()
    return page(
        request,
        "freezes.html",
        status=status,
        rows=freezes_out(found, services.clock(), past=past).items,
        past=past,
        form=form or FreezeForm(),
        problem=problem,
        keys=lambda: uuid.uuid4().hex,
    )
