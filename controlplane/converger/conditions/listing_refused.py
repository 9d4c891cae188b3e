"""The condition `ListingRefused`: places that do not let us list what is there."""

from controlplane.cluster.places import places_of
from controlplane.converger.situation.situation import Situation
from events import facts
from providers.errors import NotPermitted

LISTING_REFUSED = "ListingRefused"
"""The condition."""


def listing_refused(situation: Situation) -> facts.ConditionChanged:
    """Places that do not let us list what is there; whatever the cluster has in hand."""
    refused = situation.seen.refused
    if not refused:
        return facts.ConditionChanged(LISTING_REFUSED, False, "Free", "")
    known = situation.view.conditions.get(LISTING_REFUSED)
    named = {name for p in places_of(situation.view) if known and (name := str(p)) in known.message}
    if known is not None and known.status and named == refused.keys():
        message = known.message  # the cloud's words may have a number of the request in them: no change
    else:
        words = (f"{place} does not permit Kedge to list what is there: {refused[place]}" for place in sorted(refused))
        message = f"{'; '.join(words)}. {NotPermitted.what_next}"
    return facts.ConditionChanged(LISTING_REFUSED, True, NotPermitted.__name__, message)
