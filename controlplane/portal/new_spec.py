"""/new: a form becomes a spec file, its problems stand at their fields, and it is applied, proposed or taken along."""

import uuid
from typing import Annotated, Literal

from fastapi import APIRouter, Form, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from controlplane.api.access.caller import Caller
from controlplane.api.auth import actor_of
from controlplane.api.costs import price_list_of
from controlplane.api.placement_offers import machine_choices, version_choices, zone_choices
from controlplane.api.presenters.judged_text import words_of
from controlplane.api.pull_requests import Requester, doors_for, request_new
from controlplane.api.read_models import spec_form
from controlplane.api.request_identity import asked_id
from controlplane.api.schemas.sources import PullRequestOut
from controlplane.api.services import PortalServices, Services
from controlplane.api.specs import Judged, judge
from controlplane.portal.declaring import declared_or_proposed, taken_along
from controlplane.portal.frame import CsrfChecked, onwards, page
from events.spec.problems import Problem

router = APIRouter(prefix="/new", tags=["pages"], include_in_schema=False, dependencies=[CsrfChecked])

_MOST_RACKS = 3
"""Zones a form starts with: three replicas of a partition have no use for a fourth."""

Kind = Literal["cluster", "topic"]
Tier = Literal["scratch", "standard", "critical"]

Short = Annotated[str, Field(max_length=300)]


class SpecForm(BaseModel):
    """Every field of both kinds. `digest` is the change that was shown, `key` makes a retry safe."""

    kind: Kind = "cluster"
    tier: Tier = "standard"
    name: Short = ""
    owner: Short = ""
    version: Short = Field(default_factory=lambda: version_choices()[0])
    cloud: Short = ""
    region: Short = ""
    zones: list[Short] = Field(default_factory=list, max_length=50)
    """As they were ticked; what was typed is one of them, with its commas."""
    machine: Short = ""
    controllers: Short = ""
    brokers: Short = ""
    disk: Short = ""
    cluster: Short = ""
    partitions: Short = ""
    retention: Short = ""
    do: Literal["preview", "apply", "download", "request"] = "preview"
    binding: Short = ""
    digest: Short = ""
    key: str = Field(default_factory=lambda: uuid.uuid4().hex, pattern="^[0-9a-f]{32}$")

    def fields(self) -> dict[str, str]:
        """Each field as one text."""
        return self.model_dump() | {"zones": " ".join(self.zones)}


@router.get("")
def new(
    request: Request,
    services: Services,
    rights: Caller,
    kind: Kind = "cluster",
    tier: Tier = "standard",
    cluster: Annotated[str, Query(max_length=100)] = "",
    place: Annotated[str, Query(max_length=300)] = "",
) -> Response:
    """The empty form, with what a tier starts from in a place, `CLOUD/REGION`; the first there is without one."""
    preset = (spec_form.TOPIC_PRESETS if kind == "topic" else spec_form.CLUSTER_PRESETS)[tier]
    teams, _ = spec_form.teams_of(rights)
    form = SpecForm(kind=kind, tier=tier, cluster=cluster, owner=teams[0] if teams else "", **preset)
    cloud, _, region = place.partition("/")
    offer = services.fleet.places_offered().find(cloud, region)
    if offer is not None:
        zones = list(offer.zones[: 1 if tier == "scratch" else _MOST_RACKS])
        form = form.model_copy(update={"cloud": offer.cloud, "region": offer.region, "zones": zones})
    return _page(request, services, rights, form)


@router.post("")
def filled(request: Request, services: Services, rights: Caller, form: Annotated[SpecForm, Form()]) -> Response:
    """What the fields come to. Nothing is recorded before the second button, and only what was shown then."""
    text = spec_form.topic_text(form.fields()) if form.kind == "topic" else spec_form.cluster_text(form.fields())
    file = f"{form.name or 'new'}.yaml"
    if form.do == "download":
        return taken_along(text, form.name)
    judged = judge(services, text, file=file)
    rights.trail.refused = judged.refusal
    if form.do == "preview" or not judged.ok:
        return _page(request, services, rights, form, text=text, judged=judged, status=200 if judged.ok else 422)
    if judged.digest != form.digest:
        return _page(request, services, rights, form, text=text, judged=judged, has_moved=True, status=422)
    if form.do == "request":
        asked = Requester(rights, actor_of(rights), form.key)
        opened = request_new(services, judged, text, asked, binding=form.binding)
        return _page(request, services, rights, form, text=text, judged=judged, opened=opened)
    return onwards(
        request, declared_or_proposed(services, judged, text, actor=actor_of(rights), key=asked_id(rights, form.key))
    )


def _page(
    request: Request,
    services: PortalServices,
    rights: Caller,
    form: SpecForm,
    *,
    text: str = "",
    judged: Judged | None = None,
    has_moved: bool = False,
    opened: PullRequestOut | None = None,
    status: int = 200,
) -> Response:
    problems: dict[str, list[Problem]] = {}
    others: list[Problem] = []
    if judged is not None:
        problems, others = spec_form.on_fields(judged.problems, is_topic=form.kind == "topic")
    teams, is_free = spec_form.teams_of(rights)
    offered = services.fleet.places_offered()
    place = offered.at(form.cloud, form.region)
    # A topic has no machines: no catalogue is read for it.
    machines = machine_choices(place, price_list_of(services)[0], form.machine) if form.kind == "cluster" else ()
    return page(
        request,
        "newspec.html",
        status=status,
        form=form,
        tiers=tuple(spec_form.CLUSTER_PRESETS),
        teams=teams,
        is_free=is_free,
        clusters=[view.name for view in services.fleet.clusters.views() if view.name and not view.deleted],
        offered=offered,
        zones=zone_choices(place, form.zones),
        machines=machines,
        versions=version_choices(form.version),
        text=text,
        judged=judged,
        plan=words_of(judged) if judged is not None and judged.ok else [],
        problems=problems,
        others=others,
        has_moved=has_moved,
        doors=doors_for(services, judged) if judged is not None and opened is None else [],
        opened=opened,
        policies=services.cluster.judge.gate.policies.current(),
    )
