"""/v1/failovers: pairs of clusters of which one takes over from the other, and the withdrawal of one. They are declared
by `/v1/apply`."""

from operator import attrgetter
from typing import Annotated

from fastapi import APIRouter, Query

from controlplane.api.access.caller import Caller
from controlplane.api.access.roles import Verb
from controlplane.api.auth import Actor
from controlplane.api.paging import MOST_ON_A_PAGE, Most, Turning, following
from controlplane.api.presenters.failovers import failover_out, failover_plan_out
from controlplane.api.request_identity import CommandId
from controlplane.api.schemas import failovers as api
from controlplane.api.schemas.messages import API_PREFIX
from controlplane.api.services import PortalServices, Services
from controlplane.cluster.commands import CommandRefused
from controlplane.commands.failovers import WithdrawPair
from controlplane.fleet.failovers.orders import FailoverWish, plan_of
from controlplane.fleet.failovers.seen import NOTHING_SEEN
from events.ids import ClusterUid
from events.spec.settings import broker_count

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


@router.get("/failovers/{name}/plan")
def get_failover_plan(
    name: str,
    services: Services,
    planned: Annotated[bool, Query(description="with all records, while the primary is there")] = True,
    accept_loss: Annotated[bool, Query(description="what may be lost was read")] = False,
) -> api.FailoverPlanOut:
    """What a failover would do, what it may lose, and why it does not begin. Changes nothing."""
    pair = services.fleet.failovers.get(name)
    if not pair.view.name:
        then = f"Apply its document again, or kedge failovers withdraw {name}"
        raise CommandRefused("failover-not-declared", f"the declaration of {name} was begun and not ended", then)
    names, primary = _cluster_names(services), services.fleet.clusters.view(ClusterUid(pair.view.primary))
    brokers = broker_count(primary.document.spec.pools) if primary is not None and primary.document else None
    wish = FailoverWish(planned, accept_loss, *(names.get(c, c) for c in (pair.view.primary, pair.view.standby)))
    return failover_plan_out(pair, names, plan_of(pair.view, NOTHING_SEEN, wish, brokers))


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
