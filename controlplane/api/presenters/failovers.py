"""Pairs of clusters as the API tells them."""

from collections.abc import Mapping

from controlplane.api.schemas import failovers as api
from controlplane.fleet.failovers.orders import NOT_CARRIED_OUT, FailoverPlan
from controlplane.fleet.failovers.seen import NOTHING_SEEN
from controlplane.fleet.failovers.state import RegisteredPair
from controlplane.fleet.failovers.steps import PairWait, next_step
from events.registry import REGISTRY

NOT_ACTED_ON = "this release does nothing of it yet (docs/failover.md)"


def failover_out(pair: RegisteredPair, names: Mapping[str, str]) -> api.FailoverOut:
    """`names`: of clusters, by uid; one that is not among them is told by its uid."""
    view, declaration = pair.view, pair.view.declaration
    primary, standby = (view.primary, view.standby) if view.name else pair.clusters
    called = {uid: names.get(uid, uid) for uid in (primary, standby)}
    out = api.FailoverOut(
        name=pair.name,
        uid=pair.uid,
        state=_state(pair),
        mode="warm" if view.is_warm else "cold" if view.name else "",
        primary=called[primary],
        standby=called[standby],
        names_lead_to=called.get(view.names_lead_to, ""),
        doors=[
            api.DoorOut(
                cluster=called.get(uid, uid),
                role="primary" if uid == primary else "standby",
                state=str(door.state),
                epoch=door.epoch,
            )
            for uid, door in sorted(view.doors.items(), key=lambda one: one[0] != primary)
        ],
        order=view.order.id if view.order is not None else "",
        planned=view.order.planned if view.order is not None else None,
        returns=view.order is None or not view.order.is_promoted,
        sentence=_sentence(pair),
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
        "commit": declaration.commit,
    }
    return out.model_copy(update=said)


def _state(pair: RegisteredPair) -> str:
    if pair.view.unreadable:
        return "Unreadable"
    if pair.view.is_withdrawn:
        return "Withdrawn"
    return str(pair.view.state) if pair.view.name else "Registered"


def _sentence(pair: RegisteredPair) -> str:
    if pair.view.unreadable:
        return f"its history cannot be read, and nothing is done to it: {pair.view.unreadable}"
    if not pair.view.name and not pair.view.is_withdrawn:
        return f"its declaration was begun and not ended: apply it again, or kedge failovers withdraw {pair.name}"
    found = next_step(pair.view, NOTHING_SEEN, None)
    due = found.reason if isinstance(found, PairWait) else f"due: {REGISTRY.of_fact(found.fact).name}"
    return f"{due}; {NOT_ACTED_ON}"


def failover_plan_out(pair: RegisteredPair, names: Mapping[str, str], plan: FailoverPlan) -> api.FailoverPlanOut:
    """`names` as above. What cannot be carried out is refused whatever else speaks against it."""
    view = pair.view
    refusals = [api.FailoverRefusalOut(code=r.code, message=r.message, fix=r.fix) for r in plan.refusals]
    never = api.FailoverRefusalOut(
        code="failover-not-carried-out", message=NOT_CARRIED_OUT, fix="Move clients by hand: docs/failover.md."
    )
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
        refusals=[*refusals, never],
    )
