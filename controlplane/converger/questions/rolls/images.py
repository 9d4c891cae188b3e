"""Revisions of the image catalogue: what a VM is made from, and whether the roll that is due may begin at any time."""

from dataclasses import replace

from controlplane.cluster.folds.images import image_in, image_in_force
from controlplane.cluster.view import ClusterView
from controlplane.converger.situation.situation import Situation
from controlplane.fleet.images.fold import SECURITY
from events import facts
from providers.base import Place


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
    if image is None or image.reached_at is not None or view.document is None or view.roll.converged != view.generation:
        return False
    policy = view.document.spec.kafka.image
    return image.chosen.security == SECURITY[-1] and policy.critical == "at-once"
