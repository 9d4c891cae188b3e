"""Pairs of clusters as the API tells them."""

from collections.abc import Mapping

from controlplane.api.schemas import failovers as api
from controlplane.api.services import PortalServices
from controlplane.commands.failover_orders import order_digest
from controlplane.fleet.failovers.orders import FailoverPlan
from controlplane.fleet.failovers.state import RegisteredPair
from controlplane.fleet.failovers.step_text import step_words
from controlplane.fleet.failovers.steps import Next, PairWait
from controlplane.fleet.failovers.troubles import NO_TROUBLES, PairTroubles
from controlplane.fleet.failovers.view import DoorState, PairState, PairView

_MOST_NAMED = 20
"""Partitions that are named one by one."""


def failovers_out(services: PortalServices) -> list[api.FailoverOut]:
    """Pairs that were not withdrawn, by name. Raises StoreUnavailable."""
    names, pairs = cluster_names(services), services.fleet.failovers
    return [failover_out(pair, names, pairs.next(pair), pairs.troubles(pair)) for pair in pairs.pairs().living]


def failover_of(services: PortalServices, pair: RegisteredPair) -> api.FailoverOut:
    """One of them. Raises StoreUnavailable."""
    pairs = services.fleet.failovers
    return failover_out(pair, cluster_names(services), pairs.next(pair), pairs.troubles(pair))


def failover_plan_of(
    services: PortalServices, pair: RegisteredPair, *, planned: bool, accepts_loss: bool
) -> api.FailoverPlanOut:
    """What a failover would do. Raises StoreUnavailable, and CommandRefused where its declaration was not ended."""
    plan = services.fleet.failovers.plan(pair, planned=planned, accepts_loss=accepts_loss)
    return failover_plan_out(pair, cluster_names(services), plan, order_digest(pair, planned=planned))


def cluster_names(services: PortalServices) -> dict[str, str]:
    """Of all the caller may read, by uid."""
    return {view.uid: view.name for view in services.fleet.clusters.views()}


def failover_out(
    pair: RegisteredPair, names: Mapping[str, str], found: Next, troubles: PairTroubles = NO_TROUBLES
) -> api.FailoverOut:
    """`names`: of clusters, by uid; one that is not among them is told by its uid. `found`: what comes next of it."""
    view, declaration = pair.view, pair.view.declaration
    primary, standby = (view.primary, view.standby) if view.name else pair.clusters
    called = {uid: names.get(uid, uid) for uid in (primary, standby)}
    then = _next(pair, called, found, troubles)
    out = api.FailoverOut(
        name=pair.name,
        uid=pair.uid,
        state=_state(pair),
        mode="warm" if view.is_warm else "cold" if view.name else "",
        primary=called[primary],
        standby=called[standby],
        names_lead_to=called.get(view.names_lead_to, ""),
        name_problem=troubles.name,
        doors=[
            api.DoorOut(
                cluster=called.get(uid, uid),
                role="primary" if uid == primary else "standby",
                state=str(door.state),
                epoch=door.epoch,
            )
            for uid, door in sorted(view.doors.items(), key=lambda one: one[0] != primary)
        ],
        unproved=dict(sorted(troubles.unproved.items())),
        copy_to_standby=_copy(view, troubles) if view.is_warm and not view.is_withdrawn else None,
        order=view.order.id if view.order is not None else "",
        planned=view.order.planned if view.order is not None else None,
        returns=view.order is None or not view.order.is_promoted,
        last_order=view.ended.id if view.ended is not None else "",
        last_promoted=view.ended.is_promoted if view.ended is not None else None,
        only_on_standby=_most(view.ended.only_there) if view.ended is not None and view.may_diverge else {},
        next=then,
        needs_person=isinstance(found, PairWait) and found.needs_person,
        sentence=_sentence(pair, then),
    )
    if declaration is None:
        return out
    said = {
        "owner": declaration.document.metadata.owner,
        "dns": declaration.document.spec.bootstrap.dns,
        "generation": declaration.generation,
        "declared_at": declaration.at,
        "declared_by": declaration.by,
        "source": declaration.source,
        "path": declaration.path,
        "undeclared": declaration.undeclared,
        "commit": declaration.commit,
    }
    return out.model_copy(update=said)


def _state(pair: RegisteredPair) -> str:
    if pair.view.unreadable:
        return "Unreadable"
    if pair.view.is_withdrawn:
        return "Withdrawn"
    return str(pair.view.state) if pair.view.name else "Registered"


def _next(pair: RegisteredPair, names: Mapping[str, str], found: Next, troubles: PairTroubles) -> str:
    """Nothing of what was not declared, or cannot be read: what is to be done then is its sentence."""
    if pair.view.unreadable or not pair.view.name:
        return ""
    if not isinstance(found, PairWait):
        return f"due: {step_words(found.fact, names)}"
    if _is_fencing(pair.view):
        return f"{found.reason}; by your word: kedge failovers certify-shut {pair.name}"
    return f"{found.reason}; {troubles.standby}" if troubles.standby else found.reason


def _is_fencing(view: PairView) -> bool:
    return view.state is PairState.FENCING and view.doors[view.primary].state is DoorState.CLOSING


def _sentence(pair: RegisteredPair, then: str) -> str:
    if pair.view.unreadable:
        return f"its history cannot be read, and nothing is done to it: {pair.view.unreadable}"
    if not pair.view.name and not pair.view.is_withdrawn:
        return f"its declaration was begun and not ended: apply it again, or kedge failovers withdraw {pair.name}"
    return then


def _most(counts: Mapping[str, int]) -> dict[str, int]:
    """The partitions that have the most."""
    return dict(sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:_MOST_NAMED])


def _copy(view: PairView, troubles: PairTroubles) -> api.CopyOut:
    found = troubles.copy.copy if troubles.copy is not None else None
    left = found.lag_records if found is not None and found.lag_s is not None else None
    problems = [troubles.copy.problem if troubles.copy is not None else "", found.problem if found is not None else ""]
    return api.CopyOut(
        replicator=view.replicator_at,
        is_running=troubles.is_copying(view),
        lag_s=found.lag_s if found is not None else None,
        lag_records=sum(left.values()) if left is not None else None,
        behind=_most(left or {}),
        problem="; ".join(one for one in problems if one),
    )


def failover_plan_out(
    pair: RegisteredPair, names: Mapping[str, str], plan: FailoverPlan, digest: str
) -> api.FailoverPlanOut:
    """`names` as above; `digest` pins what is shown."""
    view = pair.view
    return api.FailoverPlanOut(
        name=pair.name,
        planned=plan.planned,
        primary=names.get(view.primary, view.primary),
        standby=names.get(view.standby, view.standby),
        steps=[
            api.PlannedStepOut(
                what=step.what, proof=step.proof, undo=step.undo, is_point_of_no_return=step.is_point_of_no_return
            )
            for step in plan.steps
        ],
        loss=list(plan.loss.lines),
        loses_nothing=plan.loss.is_nothing,
        refusals=[api.FailoverRefusalOut(code=r.code, message=r.message, fix=r.fix) for r in plan.refusals],
        digest=digest,
    )
