"""Controllers whose id passes to a VM at another address: which, and what goes on meanwhile."""

from collections.abc import Callable, Sequence

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.places import place_of
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.controller_moves import is_waiting
from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.situation.situation import Situation
from planner.rollout.diff import NodeChange
from planner.rollout.passing import LEAST_TO_MOVE
from providers.handover import Handover


def controller_to_move(view: ClusterView, change: NodeChange, way: Callable[[str], Handover | None]) -> str:
    """Key of the controller whose id the next VM takes over without its disk and its address; "" where both pass on.

    One that is lost, and could be served from its disk again, is mended where it is before it moves.
    """
    if change.service != "controller" or change.incumbent is None or change.desired is None:
        return ""
    old = view.instances[change.incumbent.key]
    if old.departure.drained:
        return ""
    if change.node != old.node or way(place_of(view, old).cloud) is Handover.NONE:
        return old.key
    serves = old.phase is Phase.JOINED and not old.lost
    return old.key if serves and str(place_of(view, old)) != change.desired.place else ""


def is_moving_controller(view: ClusterView, change: NodeChange) -> bool:
    """Whether what becomes of this node is in hand: its id is passing to somebody else."""
    return change.incumbent is not None and change.incumbent.key in view.controller_moves()


def beside_controller_moves(view: ClusterView, changes: Sequence[NodeChange]) -> tuple[NodeChange, ...]:
    """What may go on while a controller is being moved: no other one comes, moves or goes, but for what is lost."""
    if not any(h.phase in (Phase.REQUESTED, Phase.LAUNCHED) for h in view.controller_moves().values()):
        return tuple(changes)
    return tuple(c for c in changes if c.service == "broker" or (c.incumbent is not None and c.incumbent.to_mend))


def is_settled(instance: InstanceView) -> bool:
    """Whether nobody has to wait for its arrival: it stands, and waits for brokers to be told of it."""
    return is_waiting(instance) and instance.phase is Phase.LAUNCHED


def why_no_controller_move(situation: Situation) -> str:
    kafka, view = situation.seen.fresh_kafka(situation.now), situation.view
    if len(view.quorum.voters) < LEAST_TO_MOVE:
        return (
            f"{len(view.quorum.voters)} voters are too few for one to be changed under its id: grow to "
            f"{LEAST_TO_MOVE} controllers first"
        )
    feature = kafka.features.get("kraft.version") if kafka else None
    if feature is not None and feature.finalised < 1:
        return "the quorum is static (kraft.version 0): its voters cannot be changed"
    return ""
