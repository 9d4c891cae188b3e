"""Pairs of clusters as the API tells them."""

from collections.abc import Mapping

from controlplane.api.schemas import failovers as api
from controlplane.fleet.failovers.state import RegisteredPair

NOT_ACTED_ON = "this release declares and shows a pair, and does nothing of it yet (docs/failover.md)"


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
    return NOT_ACTED_ON
