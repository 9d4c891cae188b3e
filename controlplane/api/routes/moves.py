"""/v1/clusters/NAME: emptying brokers and rebalancing, looked at as a plan first."""

from fastapi import APIRouter

from controlplane.api.access.bindings import traits_of
from controlplane.api.access.caller import Caller
from controlplane.api.access.roles import Verb
from controlplane.api.cluster_lookup import living
from controlplane.api.given_commands import carry_out
from controlplane.api.presenters.moves import Moves, moves_asked, plan_out
from controlplane.api.problems import ApiError
from controlplane.api.request_identity import Heading
from controlplane.api.schemas import (
    commands as command_api,
    messages as message_api,
    moves as move_api,
    nodes as node_api,
)
from controlplane.api.services import Services
from controlplane.cluster.commands import CancelRebalance, CommandHead, EvacuateBrokers, RebalanceCluster
from events.quantities import GIB
from planner.rebalancing.choice import BalanceChoice

router = APIRouter(prefix=message_api.API_PREFIX, tags=["nodes"])


@router.post(
    "/clusters/{name}/moves/plan", responses={409: {"description": "no such move can be planned as things are"}}
)
def plan_moves(name: str, body: move_api.MovesPlanIn, services: Services, rights: Caller) -> move_api.MovesPlanOut:
    """What emptying brokers, or a rebalance, would move now. Records nothing; its digest binds a later yes to it."""
    view = living(services, name)
    rights.require(Verb.STEER, traits_of(view.document), name)
    if (body.kind == "drain") != bool(body.brokers):
        title = "a drain empties brokers, a rebalance none"
        raise ApiError(422, "no-broker", title, next_step="Name `brokers` with `kind: drain` alone.")
    command = _looked_at(name, body)
    return plan_out(
        services, view, command, moves_asked(view, command, services.fleet.clusters.last_snapshot(view.uid))
    )


@router.post("/clusters/{name}/evacuate")
def evacuate(body: move_api.EvacuateIn, services: Services, head: Heading) -> command_api.CommandOut:
    """Empty brokers and keep them empty."""
    command = EvacuateBrokers(
        **head,
        reason=body.reason,
        brokers=tuple(body.brokers),
        targets=tuple(body.targets),
        throttle_mib_per_s=body.throttle_mib_per_s,
        only_while=body.digest,
    )
    return carry_out(services, command)


@router.post("/clusters/{name}/rebalance")
def rebalance(body: node_api.RebalanceIn, services: Services, head: Heading) -> command_api.CommandOut:
    """Spread replicas and leaders anew over the brokers, or onto some of them alone, in small batches.

    Where a policy leaves it to a second person it becomes a proposal.
    """
    command = RebalanceCluster(
        **head,
        reason=body.reason,
        targets=tuple(body.targets),
        per_day_bytes=(body.per_day_gib or 0) * GIB,
        throttle_mib_per_s=body.throttle_mib_per_s,
        only_while=body.digest,
        choice=BalanceChoice(tuple(body.goals), tuple(body.exclude_topics), tuple(body.exclude_brokers)),
    )
    return carry_out(services, command)


@router.post("/clusters/{name}/rebalance/cancel")
def cancel_rebalance(body: node_api.CancelRebalanceIn, services: Services, head: Heading) -> command_api.CommandOut:
    """Begin no more of the rebalance in hand."""
    return carry_out(services, CancelRebalance(**head, reason=body.reason))


def _looked_at(name: str, body: move_api.MovesPlanIn) -> Moves:
    head, throttle = CommandHead(name=name, actor="", command_id=""), body.throttle_mib_per_s
    if body.kind == "rebalance":
        return RebalanceCluster(
            **head,
            reason="",
            targets=tuple(body.targets),
            per_day_bytes=(body.per_day_gib or 0) * GIB,
            throttle_mib_per_s=throttle,
            choice=BalanceChoice(tuple(body.goals), tuple(body.exclude_topics), tuple(body.exclude_brokers)),
        )
    return EvacuateBrokers(
        **head,
        reason="",
        brokers=tuple(body.brokers),
        targets=tuple(body.targets),
        throttle_mib_per_s=throttle,
    )
