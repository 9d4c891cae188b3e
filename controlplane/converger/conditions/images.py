"""The condition `ImageBehind`: a revision of the image catalogue the cluster is not on."""

from controlplane.converger.situation.situation import Situation
from events import facts

IMAGE = "ImageBehind"
"""The condition. Nothing of the cluster is the worse for it: it serves as before, from an older image."""


def image_condition(situation: Situation) -> facts.ConditionChanged | None:
    """The condition: a revision that concerns the cluster and that it is not on."""
    view, offer = situation.view, situation.image
    if not offer.waits:
        return facts.ConditionChanged(IMAGE, False, "Free", "") if IMAGE in view.conditions else None
    return facts.ConditionChanged(IMAGE, True, offer.reason, f"{offer.waits}. Next: kedge images")
