"""Stages of the fleet: a changed spec waits until earlier stages that have the same change in hand are through with it.

What is lost, unhealthy or down is mended meanwhile, live settings are set and what has begun is ended, as outside a
window. A person may let one generation go on without them (`kedge roll --now`).
"""

from controlplane.cluster.view import ClusterView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.windows import Closed, is_waived
from controlplane.converger.situation.situation import Situation
from controlplane.fleet.spec_order import StageWait


def held_by_stage(situation: Situation) -> Closed | None:
    """What keeps a changed spec from being brought about now, None when nothing does."""
    words = stage_words(situation.view, situation.order)
    return Closed(WaitReason.FLEET_ORDER, words, None) if words and situation.view.roll.converged else None


def stage_words(view: ClusterView, order: StageWait | None) -> str:
    """For plans and descriptions; "" where nobody is waited for."""
    return order.words if order is not None and not is_waived(view) else ""
