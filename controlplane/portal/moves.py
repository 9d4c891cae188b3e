"""Drain and rebalance: who is to be emptied, or all spread anew; what that would move, with its certificate; agreed to
as long as that holds; then how far it is, until it ends or is cancelled. The commands are those of the command line.
"""

import uuid
from typing import Annotated, Literal

from fastapi import APIRouter, Form, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from controlplane.api.access.bindings import traits_of
from controlplane.api.access.caller import Caller
from controlplane.api.access.rights import Rights
from controlplane.api.access.roles import Verb
from controlplane.api.cluster_lookup import living
from controlplane.api.given_commands import carry_out
from controlplane.api.presenters.conditions import brake_out
from controlplane.api.presenters.moves import Moves, look_of, moves_asked
from controlplane.api.problems import ApiError
from controlplane.api.read_models.moves import moves_in_hand
from controlplane.api.request_identity import heading_of
from controlplane.api.services import Services
from controlplane.cluster.balance_choice import spec_choice
from controlplane.cluster.commands import CancelRebalance, EvacuateBrokers, RebalanceCluster
from controlplane.cluster.lifecycle import Phase
from controlplane.commands.previews.moves import placement_of
from controlplane.portal.cluster import head_of
from controlplane.portal.frame import CsrfChecked, onwards, page
from events.quantities import GIB
from planner.balance.goals import Goal
from planner.rebalancing.choice import BalanceChoice

router = APIRouter(prefix="/clusters/{name}/moves", tags=["pages"], include_in_schema=False, dependencies=[CsrfChecked])


class MovesForm(BaseModel):
    """What is asked for. `key` is the command's id; `placement` what the plan that was looked at was made from."""

    kind: Literal["drain", "rebalance"] = "drain"
    brokers: list[int] = Field(default_factory=list, max_length=1000)
    targets: list[int] = Field(default_factory=list, max_length=1000)
    throttle: str = Field(default="", pattern="^[0-9]{0,5}$")
    per_day_gib: str = Field(default="", pattern="^[0-9]{0,6}$")
    goals: list[str] = Field(default_factory=list, max_length=32)
    exclude_topics: str = Field(default="", max_length=10_000)
    exclude_brokers: list[int] = Field(default_factory=list, max_length=1000)
    reason: str = Field(default="", max_length=200)
    placement: str = Field(default="", pattern="^[0-9a-f-]{0,60}$")
    key: str = Field(default_factory=lambda: uuid.uuid4().hex, pattern="^[0-9a-f]{32}$")


Fields = Annotated[MovesForm, Form()]


@router.get("")
def moves(request: Request, name: str, services: Services, rights: Caller) -> Response:
    """What moves now, and the form for more."""
    view = living(services, name)
    snapshot, known = services.fleet.clusters.last_snapshot(view.uid), services.fleet.clusters.last_moves(view.uid)
    said = services.fleet.clusters.said(view.uid)
    return page(
        request,
        "moves.html",
        head=head_of(request, services, rights, view),
        tab="moves",
        view=view,
        snapshot=snapshot,
        hand=moves_in_hand(snapshot, known.pulses) if snapshot else None,
        sentence=said.sentence if said else "",
        brake=brake_out(view),
        brokers=[i for i in view.brokers() if i.phase is Phase.JOINED and not i.lost],
        goals=[goal.value for goal in Goal],
        chosen=spec_choice(view),
    )


@router.post("/plan")
def plan(request: Request, name: str, services: Services, rights: Caller, form: Fields) -> Response:
    """What would come of it, or why nothing does. Records nothing."""
    view = living(services, name)
    rights.require(Verb.STEER, traits_of(view.document), name)
    snapshot = services.fleet.clusters.last_snapshot(view.uid)
    command = _command(name, form, rights)
    look = look_of(services, view, command, moves_asked(view, command, snapshot))
    return page(
        request,
        "movesplan.html",
        cluster=name,
        form=form,
        sentence=look.asked.sentence,
        changes=look.asked.fact is not None,
        preview=look.preview,
        read_at=snapshot.at if snapshot else None,
        why=look.no_plan,
        placement=placement_of(view, snapshot, command),
    )


@router.post("/approve")
def approve(request: Request, name: str, services: Services, rights: Caller, form: Fields) -> Response:
    """Records it, if what it was planned from is still so."""
    view = living(services, name)
    rights.require(Verb.STEER, traits_of(view.document), name)
    if not form.placement:
        raise ApiError(409, "plan-moved", "no plan was previewed", next_step="Preview the plan first.")
    made = carry_out(services, _command(name, form, rights)).proposal
    return onwards(request, f"/proposals/{made}" if made else f"/clusters/{name}/moves")


@router.post("/cancel")
def cancel(request: Request, name: str, services: Services, rights: Caller, form: Fields) -> Response:
    """No further batch of the rebalance begins; what runs ends, what has moved stays."""
    command = CancelRebalance(**heading_of(rights, name, form.key), reason=form.reason)
    carry_out(services, command)
    return onwards(request, f"/clusters/{name}/moves")


def _command(name: str, form: MovesForm, rights: Rights) -> Moves:
    if form.kind == "rebalance":
        return RebalanceCluster(
            **heading_of(rights, name, form.key),
            reason=form.reason,
            targets=tuple(form.targets),
            per_day_bytes=int(form.per_day_gib or 0) * GIB,
            throttle_mib_per_s=int(form.throttle or 0),
            only_while=form.placement,
            choice=BalanceChoice(
                tuple(form.goals),
                tuple(form.exclude_topics.replace(",", " ").split()),
                tuple(form.exclude_brokers),
            ),
        )
    if not form.brokers:
        raise ApiError(422, "no-broker", "no broker was chosen", next_step="Choose one or more.")
    return EvacuateBrokers(
        **heading_of(rights, name, form.key),
        reason=form.reason,
        brokers=tuple(form.brokers),
        targets=tuple(form.targets),
        throttle_mib_per_s=int(form.throttle or 0),
        only_while=form.placement,
    )
