"""/v1/failovers: pairs of clusters of which one takes over from the other, and the withdrawal of one. They are declared
by `/v1/apply`."""

from operator import attrgetter
from typing import Annotated

from fastapi import APIRouter, Query

from controlplane.api.access.caller import Caller
from controlplane.api.access.roles import Verb
from controlplane.api.auth import Actor
from controlplane.api.paging import MOST_ON_A_PAGE, Most, Turning, following
from controlplane.api.presenters.failovers import failover_out
from controlplane.api.request_identity import CommandId
from controlplane.api.schemas import failovers as api
from controlplane.api.schemas.messages import API_PREFIX
from controlplane.api.services import PortalServices, Services
from controlplane.commands.failovers import WithdrawPair

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
    names, name = _cluster_names(services), attrgetter("name")
    every = [failover_out(pair, names) for pair in services.fleet.failovers.pairs().living]
    return api.FailoversOut(items=turn.page(following(every, name, after), name, limit))


@router.get("/failovers/{name}")
def get_failover(name: str, services: Services) -> api.FailoverOut:
    """One pair."""
    return failover_out(services.fleet.failovers.get(name), _cluster_names(services))


@router.post("/failovers/{name}/withdraw")
def withdraw(
    name: str, body: api.WithdrawalIn, services: Services, actor: Actor, key: CommandId
) -> api.FailoverSaidOut:
    """Takes its declaration back. Refused while something of it acts, or the name was not typed again."""
    command = WithdrawPair(name=name, actor=actor, command_id=key, confirm=body.confirm, reason=body.reason)
    done = services.fleet.failovers.withdraw(command)
    return api.FailoverSaidOut(name=done.name, changed=done.changed, sentence=done.sentence)


def _cluster_names(services: PortalServices) -> dict[str, str]:
    return {view.uid: view.name for view in services.fleet.clusters.views()}
