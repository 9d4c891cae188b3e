"""A form that puts the offsets of a consumer group elsewhere: what it would mean, then the yes."""

import json
import uuid
from typing import Annotated, Literal

from fastapi import APIRouter, Form, Request
from pydantic import BaseModel, Field, ValidationError
from starlette.responses import Response

from controlplane.api.access.bindings import traits_of
from controlplane.api.access.caller import Caller
from controlplane.api.access.roles import Verb
from controlplane.api.auth import actor_of
from controlplane.api.cluster_lookup import living
from controlplane.api.presenters.resets import carried_out, plan_out, planned, wish_of
from controlplane.api.problems import ApiError
from controlplane.api.request_identity import asked_id
from controlplane.api.schemas import resets as reset_api
from controlplane.api.services import Services
from controlplane.background.consumer_groups.resets import ResetOrder
from controlplane.portal.frame import CsrfChecked, onwards, page
from controlplane.portal.zones import moment_of_field
from controlplane.runtime.path_names import group_address
from events.facts import OffsetPut
from planner.consumers.reported import beyond_words

router = APIRouter(
    prefix="/clusters/{name}/offset-resets", tags=["pages"], include_in_schema=False, dependencies=[CsrfChecked]
)

MOST_ROWS = 1_000
"""Of one form; more are reset in a terminal, or topic by topic."""


class WishForm(BaseModel):
    """What is asked for. `when` is a time as one writes it, in the zone of the page."""

    group: str = Field(default="", max_length=250)
    to: Literal["earliest", "latest", "time", "offset", "shift"] = "earliest"
    when: str = Field(default="", max_length=40)
    number: str = Field(default="", pattern="^-?[0-9]{0,15}$")
    topic: str = Field(default="", max_length=249)
    reason: str = Field(default="", max_length=200)


class ResetForm(BaseModel):
    """A plan that was looked at. `offsets`: rows of topic, partition, before and after, as JSON."""

    group: str = Field(default="", max_length=250)
    offsets: str = Field(default="[]", max_length=500_000)
    reason: str = Field(default="", max_length=200)
    key: str = Field(default_factory=lambda: uuid.uuid4().hex, pattern="^[0-9a-f]{32}$")


@router.post("/plan")
def plan(
    request: Request, name: str, services: Services, rights: Caller, form: Annotated[WishForm, Form()]
) -> Response:
    """What would come of it, or why nothing does. Records nothing."""
    view = living(services, name)
    rights.require(Verb.DECLARE, traits_of(view.document), name)
    try:
        body = reset_api.ResetPlanIn(
            group=form.group,
            to=form.to,
            at=moment_of_field(request, form.when) if form.to == "time" else None,
            number=int(form.number or 0),
            topics=[form.topic] if form.topic else [],
        )
    except (ValidationError, ValueError) as error:
        then = "Go back: choose a group, and for a time write one, such as 2026-01-31 12:00."
        raise ApiError(422, "wish-unfit", "that cannot be asked for", detail=str(error), next_step=then) from error
    found = plan_out(name, body.group, planned(services, view, body.group, wish_of(body)))
    rows = [[c.topic, c.partition, c.before, c.after] for c in found.changes]
    return page(
        request,
        "offsetreset.html",
        cluster=name,
        plan=found,
        beyond_words=beyond_words,
        address=group_address(name, found.group),
        offsets=json.dumps(rows, separators=(",", ":")),
        rows=found.changes[:MOST_ROWS],
        too_many=len(found.changes) > MOST_ROWS,
        form=form,
        key=uuid.uuid4().hex,
    )


@router.post("")
def reset(
    request: Request, name: str, services: Services, rights: Caller, form: Annotated[ResetForm, Form()]
) -> Response:
    """Does it, if all is as it was when it was looked at."""
    view = living(services, name)
    rights.require(Verb.DECLARE, traits_of(view.document), name)
    try:
        rows = [
            reset_api.OffsetIn(topic=topic, partition=partition, before=before, after=after)
            for topic, partition, before, after in json.loads(form.offsets)
        ]
    except (TypeError, ValueError) as error:
        raise ApiError(422, "no-plan", "no plan was previewed", next_step="Preview the plan first.") from error
    offsets = tuple(OffsetPut(r.topic, r.partition, r.before, r.after) for r in rows)
    order = ResetOrder(
        group=form.group, offsets=offsets, reason=form.reason, actor=actor_of(rights), key=asked_id(rights, form.key)
    )
    carried_out(services, view, order)
    return onwards(request, group_address(name, form.group))
