"""Keys of an overlay, as agents make them: recorded, so that all others are told whose they are."""

from controlplane.cluster.overlay import EPOCH
from controlplane.cluster.overlay_keys import reported_keys
from controlplane.converger.situation.decision import Decision, record
from controlplane.converger.situation.situation import Situation
from events.quantities import named


def overlay_key_step(situation: Situation) -> Decision | None:
    """Nothing waits for it: a VM whose key is not known yet is nobody's peer, and its services start all the same. One
    whose key is refused stays nobody's peer."""
    view = situation.view
    if view.document is None or view.document.spec.network.overlay is None:
        return None
    found = reported_keys(view, situation.seen.reports, EPOCH, situation.now)
    if not found.new:
        return None
    keys = [event.key for event in found.new]
    return record(f"{named(keys)} made their keys for the overlay: the others are told whose they are", *found.new)
