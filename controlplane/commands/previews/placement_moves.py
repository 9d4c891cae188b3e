"""What a plan says of pools that move to another place: from where, to where, and the bytes that go that way. Pure."""

from controlplane.cluster.places import place_of
from controlplane.cluster.view import ClusterView
from events.spec.model import KafkaClusterDocument
from planner.observed import KafkaSnapshot
from planner.quantities import human_bytes
from planner.rollout.diff import Change
from planner.rollout.steps import RolloutPlan


def pools_that_move(
    view: ClusterView, document: KafkaClusterDocument, rollout: RolloutPlan, snapshot: KafkaSnapshot | None
) -> tuple[str, ...]:
    """A sentence for each pool of the document with brokers that live elsewhere now."""
    elsewhere = ((pool, _elsewhere(view, pool.name, pool.place.name)) for pool in document.spec.pools)
    return tuple(
        _of_controllers(pool.name, pool.place.name, moving)
        if pool.is_quorum
        else _sentence(pool.name, pool.place.name, moving, rollout, snapshot)
        for pool, moving in elsewhere
        if moving
    )


def _elsewhere(view: ClusterView, pool: str, place: str) -> dict[str, str]:
    """Nodes of a pool whose VM is in another place -> that place."""
    there = (i for i in view.alive() if i.planned.pool == pool)
    return {i.node: str(place_of(view, i)) for i in there if str(place_of(view, i)) != place}


def _of_controllers(pool: str, place: str, moving: dict[str, str]) -> str:
    left = ", ".join(sorted(set(moving.values())))
    nodes = f"{len(moving)} controller{'s' if len(moving) > 1 else ''}"
    return (
        f"pool {pool} leaves {left} for {place}: {nodes}, one at a time, under the same ids, with new disks that the "
        "quorum fills and at new addresses. The way back is the former place in the spec"
    )


def _sentence(
    pool: str, place: str, moving: dict[str, str], rollout: RolloutPlan, snapshot: KafkaSnapshot | None
) -> str:
    steps = [s for phase in rollout.phases for s in phase.steps]
    copied = sum(s.bytes for s in steps if s.node in moving and s.change in (Change.REPLACE, Change.REMOVE))
    amount = f"about {human_bytes(copied)} are" if snapshot is not None else "an unknown amount is"
    left = ", ".join(sorted(set(moving.values())))
    nodes = f"{len(moving)} broker{'s' if len(moving) > 1 else ''}"
    return (
        f"pool {pool} leaves {left} for {place}: {nodes}; {amount} copied from place to place, and what clouds bill "
        "for that is in no sum. The way back is the former place in the spec; it copies what has moved once more"
    )
