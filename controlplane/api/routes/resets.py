"""/v1/clusters/NAME/offset-resets: offsets of consumer groups put elsewhere, looked at as a plan first.

The group is in the body: names of groups may hold anything, slashes too.
"""

from fastapi import APIRouter

from controlplane.api.access.bindings import traits_of
from controlplane.api.access.caller import Caller
from controlplane.api.access.roles import Verb
from controlplane.api.auth import Actor
from controlplane.api.cluster_lookup import living
from controlplane.api.presenters.resets import carried_out, plan_out, planned, wish_of
from controlplane.api.request_identity import CommandId
from controlplane.api.schemas import messages as message_api, resets as reset_api
from controlplane.api.services import Services
from controlplane.background.consumer_groups.resets import ResetOrder
from events.facts import OffsetPut

router = APIRouter(prefix=message_api.API_PREFIX, tags=["groups"])


@router.post("/clusters/{name}/offset-resets/plan")
def plan_reset(name: str, body: reset_api.ResetPlanIn, services: Services, rights: Caller) -> reset_api.ResetPlanOut:
    """What putting offsets of a group elsewhere would mean now. Records nothing."""
    view = living(services, name)
    rights.require(Verb.DECLARE, traits_of(view.document), name)
    return plan_out(name, body.group, planned(services, view, body.group, wish_of(body)))


@router.post("/clusters/{name}/offset-resets")
def reset_offsets(
    name: str, body: reset_api.ResetIn, services: Services, rights: Caller, actor: Actor, key: CommandId
) -> reset_api.ResetOut:
    """Put these offsets elsewhere, exactly as planned. Refused while the group has members, and when it has moved.

    Recorded first, then done. After a 503 it may or may not have been done: with the same key it is finished.
    """
    view = living(services, name)
    rights.require(Verb.DECLARE, traits_of(view.document), name)
    offsets = tuple(OffsetPut(o.topic, o.partition, o.before, o.after) for o in body.offsets)
    order = ResetOrder(group=body.group, offsets=offsets, reason=body.reason, actor=actor, key=key)
    return carried_out(services, view, order)
