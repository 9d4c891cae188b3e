"""Revisions of the image catalogue: which one the cluster's VMs are made from, and what a later one waits for."""

from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.situation.decision import Decision, record, wait
from controlplane.converger.situation.situation import Situation

FOR_EVER_S = 36500 * 86_400.0
"""Who waits for another cluster is not `Blocked`: the other one is, if anybody."""


def image_step(situation: Situation) -> Decision | None:
    """Fixes the revision VMs are made from next; what is outdated by it is then replaced like anything else."""
    chosen = situation.image.chosen
    if chosen is None:
        return None
    security = f" ({chosen.security}: {chosen.reason})" if chosen.security else ""
    return record(f"VMs are made from image {chosen.revision} from here on{security}", chosen)


def image_left_step(situation: Situation) -> Decision | None:
    """Says why a revision that concerns the cluster is not rolled to. Last of all: nothing else waits for it."""
    offer = situation.image
    if not offer.waits:
        return None
    return wait(WaitReason.IMAGE_WAITS, offer.waits, next_command="kedge images", patience_s=FOR_EVER_S)


def withdrawn_first(situation: Situation) -> Decision | None:
    """A roll to what was withdrawn goes no further, until there is something else to roll to."""
    if not situation.image.holds:
        return None
    words = f"not rolling on: {situation.image.waits}"
    return wait(WaitReason.IMAGE_WITHDRAWN, words, next_command="kedge images publish, or kedge abort", patience_s=0)
