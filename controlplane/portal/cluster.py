"""The overview of one cluster: two words, what is being done, what is wrong, who changed what; pause, resume, abort."""

import uuid
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Form, Request
from starlette.responses import Response

from controlplane.api.access.caller import Caller
from controlplane.api.access.rights import Rights
from controlplane.api.access.roles import Verb
from controlplane.api.auth import actor_of
from controlplane.api.cluster_lookup import living
from controlplane.api.given_commands import carry_out
from controlplane.api.presenters import clusters as answers
from controlplane.api.presenters.figures import figures_out
from controlplane.api.presenters.fleet import FleetRow, fleet_row
from controlplane.api.presenters.instances import agents_of_cluster
from controlplane.api.read_models.changes import changes_of
from controlplane.api.read_models.roll_stages import Roll, Rolls, Story
from controlplane.api.services import PortalServices, Services
from controlplane.cluster.commands import AbortRecycle, Command, CommandHead, PauseCluster, ResumeCluster
from controlplane.cluster.view import ClusterView
from controlplane.portal.charts import traffic_chart
from controlplane.portal.failovers import member_of
from controlplane.portal.frame import CsrfChecked, onwards, page

router = APIRouter(prefix="/clusters/{name}", tags=["pages"], include_in_schema=False, dependencies=[CsrfChecked])

Reason = Annotated[str, Form(max_length=200)]


@dataclass(frozen=True, slots=True)
class Head:
    """What stands above every page of a cluster. `version`: of the stream, so a page knows what it shows."""

    row: FleetRow
    view: ClusterView
    story: Story
    may_steer: bool
    may_declare: bool = False
    may_delete: bool = False
    may_hand_over: bool = False

    @property
    def roll(self) -> Roll:
        return self.story.roll

    @property
    def is_rolling(self) -> bool:
        return bool(self.roll.nodes) and self.roll.ended_at is None and bool(self.view.roll.recycling)


@router.get("")
def overview(request: Request, name: str, services: Services, rights: Caller) -> Response:
    """The page of a cluster."""
    view = living(services, name)
    snapshot, now = services.fleet.clusters.last_snapshot(view.uid), services.clock()
    head = head_of(request, services, rights, view)
    agents, progress = agents_of_cluster(services, view, now), services.cluster.progress(view)
    told = figures_out(services, view, head.roll)
    pair = services.fleet.failovers.pairs().holder(view.uid)
    detail = answers.cluster_detail(view, services.fleet.clusters, agents=agents, now=now, progress=progress)
    return page(
        request,
        "cluster.html",
        head=head,
        tab="overview",
        detail=detail,
        snapshot=snapshot,
        traffic=traffic_chart(told),
        no_traffic=told.why_none,
        endpoints=answers.endpoints_out(view),
        pair=pair,
        member=member_of(pair, view.uid, view.name) if pair is not None else None,
        changes=changes_of(head.story.people),
        has_bindings=services.fleet.sources is not None and bool(services.fleet.sources.statuses()),
    )


@router.post("/pause")
def pause(request: Request, name: str, services: Services, rights: Caller, reason: Reason = "") -> Response:
    """Begin no new step."""
    return _do(request, services, PauseCluster(**_fresh(rights, name), reason=reason))


@router.post("/resume")
def resume(request: Request, name: str, services: Services, rights: Caller, reason: Reason = "") -> Response:
    """Go on, and forgive what failed."""
    return _do(request, services, ResumeCluster(**_fresh(rights, name), reason=reason))


@router.post("/abort")
def abort(request: Request, name: str, services: Services, rights: Caller, reason: Reason = "") -> Response:
    """Stop the roll after the replacement in hand."""
    return _do(request, services, AbortRecycle(**_fresh(rights, name), reason=reason))


def head_of(request: Request, services: PortalServices, rights: Rights, view: ClusterView) -> Head:
    """The head of a cluster's pages."""
    rolls: Rolls = request.app.state.rolls
    story = rolls.of(view.uid, view.version)
    return Head(
        fleet_row(services, view),
        view,
        story,
        may_steer=rights.may_on(Verb.STEER, view),
        may_declare=rights.may_on(Verb.DECLARE, view),
        may_delete=rights.may_on(Verb.DELETE, view),
        may_hand_over=rights.may_on(Verb.HAND_OVER, view),
    )


def _fresh(rights: Rights, name: str) -> CommandHead:
    return CommandHead(name=name, actor=actor_of(rights), command_id=uuid.uuid4().hex)


def _do(request: Request, services: PortalServices, command: Command) -> Response:
    carry_out(services, command)
    return onwards(request, f"/clusters/{command.name}")
