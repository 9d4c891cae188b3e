"""/v1/failovers: pairs of clusters of which one takes over from the other, what is ordered of them, and the withdrawal
of one. They are declared by `/v1/apply`."""

from operator import attrgetter
from typing import Annotated

from fastapi import APIRouter, Query

from controlplane.api.access.caller import Caller
from controlplane.api.access.roles import Verb
from controlplane.api.auth import Actor
from controlplane.api.paging import MOST_ON_A_PAGE, Most, Turning, following
from controlplane.api.presenters.failovers import failover_of, failover_plan_of, failovers_out
from controlplane.api.request_identity import CommandId
from controlplane.api.schemas import failovers as api
from controlplane.api.schemas.messages import API_PREFIX
from controlplane.api.services import Services
from controlplane.commands.failover_declarations import WithdrawPair
from controlplane.commands.failover_orders import (
    AbortFailover,
    CertifyDoorShut,
    OrderFailover,
    PairOutcome,
)

router = APIRouter(prefix=API_PREFIX, tags=["failovers"])


@router.get("/failovers")
def list_failovers(
    services: Services,
    rights: Caller,
    turn: Turning,
    after: Annotated[str, Query(max_length=63, description="the name of the last before")] = "",
    limit: Most = MOST_ON_A_PAGE,
) -> api.FailoversOut:
    """Pairs whose clusters the caller may read, by name; withdrawn ones are left out."""
    rights.require_somewhere(Verb.READ, "failovers")
    name = attrgetter("name")
    return api.FailoversOut(items=turn.page(following(failovers_out(services), name, after), name, limit))


@router.get("/failovers/{name}")
def get_failover(name: str, services: Services) -> api.FailoverOut:
    """One pair: its state and doors, the order in hand, and what comes next."""
    return failover_of(services, services.fleet.failovers.get(name))


@router.get("/failovers/{name}/plan")
def get_failover_plan(
    name: str,
    services: Services,
    planned: Annotated[bool, Query(description="with all records, while the primary is there")] = True,
    accept_loss: Annotated[bool, Query(description="what may be lost was read")] = False,
) -> api.FailoverPlanOut:
    """What a failover would do, what it may lose, and why it does not begin. Changes nothing."""
    pair = services.fleet.failovers.get(name)
    return failover_plan_of(services, pair, planned=planned, accepts_loss=accept_loss)


@router.post("/failovers/{name}/failover")
def order_failover(
    name: str, body: api.FailoverOrderIn, services: Services, actor: Actor, key: CommandId
) -> api.FailoverSaidOut:
    """Orders a failover. Refused for whatever its plan is refused for, and where the name was not typed again."""
    command = OrderFailover(
        name=name,
        actor=actor,
        command_id=key,
        planned=body.planned,
        accepts_loss=body.accept_loss,
        confirm=body.confirm,
        reason=body.reason,
        plan_digest=body.plan_digest,
    )
    return _said(services.fleet.failovers.order(command))


@router.post("/failovers/{name}/abort")
def abort_failover(
    name: str, body: api.FailoverAbortIn, services: Services, actor: Actor, key: CommandId
) -> api.FailoverSaidOut:
    """Aborts the failover in hand. Refused behind its point of no return."""
    command = AbortFailover(name=name, actor=actor, command_id=key, reason=body.reason)
    return _said(services.fleet.failovers.abort(command))


@router.post("/failovers/{name}/certify-shut")
def certify_shut(
    name: str, body: api.DoorCertificationIn, services: Services, actor: Actor, key: CommandId
) -> api.FailoverSaidOut:
    """Takes a person's word that no VM of the old primary lets clients in. Refused while no failover waits for that."""
    command = CertifyDoorShut(name=name, actor=actor, command_id=key, confirm=body.confirm, reason=body.reason)
    return _said(services.fleet.failovers.certify(command))


@router.post("/failovers/{name}/withdraw")
def withdraw(
    name: str, body: api.WithdrawalIn, services: Services, actor: Actor, key: CommandId
) -> api.FailoverSaidOut:
    """Takes its declaration back. Refused while something of it acts, or the name was not typed again."""
    command = WithdrawPair(name=name, actor=actor, command_id=key, confirm=body.confirm, reason=body.reason)
    return _said(services.fleet.failovers.withdraw(command))


def _said(done: PairOutcome) -> api.FailoverSaidOut:
    return api.FailoverSaidOut(name=done.name, changed=done.changed, sentence=done.sentence, order=done.order)
