"""Revisions of the image catalogue: which one the cluster's VMs are made from, and what a later one waits for."""

from dataclasses import replace

from controlplane.cluster.folds.images import image_in, image_in_force
from controlplane.cluster.view import ClusterView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.situation.decision import Situation, Verdict, record, wait
from controlplane.fleet.images.fold import SECURITY
from events import facts
from providers.base import Place

IMAGE = "ImageBehind"
"""The condition. Nothing of the cluster is the worse for it: it serves as before, from an older image."""

FOR_EVER_S = 36500 * 86_400.0
"""Who waits for another cluster is not `Blocked`: the other one is, if anybody."""


def image_step(situation: Situation) -> Verdict | None:
    """Fixes the revision VMs are made from next; what is outdated by it is then replaced like anything else."""
    chosen = situation.image.chosen
    if chosen is None:
        return None
    told = f" ({chosen.security}: {chosen.reason})" if chosen.security else ""
    return record(f"VMs are made from image {chosen.revision} from here on{told}", chosen)


def image_left_step(situation: Situation) -> Verdict | None:
    """Says why a revision that concerns the cluster is not rolled to. Last of all: nothing else waits for it."""
    offer = situation.image
    if not offer.waits:
        return None
    return wait(WaitReason.IMAGE_WAITS, offer.waits, next_command="kedge images", patience_s=FOR_EVER_S)


def withdrawn_first(situation: Situation) -> Verdict | None:
    """A roll to what was withdrawn goes no further, until there is something else to roll to."""
    if not situation.image.holds:
        return None
    words = f"not rolling on: {situation.image.waits}"
    return wait(WaitReason.IMAGE_WITHDRAWN, words, next_command="kedge images publish, or kedge abort", patience_s=0)


def with_image(situation: Situation, planned: facts.PlannedInstance, place: Place) -> facts.PlannedInstance:
    """A VM to be made, with what it is made from. Of a withdrawn revision none is: a repair gets what was there."""
    view = situation.view
    image = image_in_force(view)
    if image is not None and not situation.image.holds:
        planned = replace(planned, image=image_in(image.chosen, place.cloud, place.region))
    elif image is not None:
        old = view.instances.get(f"{planned.node}.g{planned.replaces}")
        planned = replace(planned, image=old.planned.image if old is not None else None)
    own = view.document.spec.kafka.distribution if view.document is not None else None
    if own is None:
        return planned
    made_from = planned.image or facts.PlannedImage("", {})
    return replace(planned, image=replace(made_from, url=own.url, sha256=own.sha256))


def is_urgent(view: ClusterView) -> bool:
    """Whether the roll that is due is to a critical revision, of a spec that lets such begin at any time.

    Never together with another change of the spec: that waits for its window.
    """
    image = image_in_force(view)
    if image is None or image.reached_at is not None or view.document is None or view.converged != view.generation:
        return False
    policy = view.document.spec.kafka.image
    return image.chosen.security == SECURITY[-1] and policy.critical == "at-once"


def image_told(situation: Situation) -> facts.ConditionChanged | None:
    """The condition: a revision that concerns the cluster and that it is not on."""
    view, offer = situation.view, situation.image
    if not offer.waits:
        return facts.ConditionChanged(IMAGE, False, "Free", "") if IMAGE in view.conditions else None
    return facts.ConditionChanged(IMAGE, True, offer.reason, f"{offer.waits}. Next: kedge images")
