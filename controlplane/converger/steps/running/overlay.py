"""What others of an overlay go by: keys, as agents make them, and public addresses, as clouds tell them. They are
recorded, so that all others are told."""

from controlplane.cluster.overlay import EPOCH
from controlplane.cluster.overlay_addresses import seen_addresses
from controlplane.cluster.overlay_keys import reported_keys
from controlplane.converger.situation.decision import Decision, record
from controlplane.converger.situation.situation import Situation
from events.quantities import named


def overlay_step(situation: Situation) -> Decision | None:
    """Nothing waits for it: a VM whose key is not known yet is nobody's peer, and its services start all the same. One
    whose key is refused stays nobody's peer."""
    view = situation.view
    if view.document is None or view.document.spec.network.overlay is None:
        return None
    found = reported_keys(view, situation.seen.reports, EPOCH, situation.now)
    inventory = situation.seen.fresh_inventory(situation.now)
    called = seen_addresses(view, inventory.instances) if inventory is not None else ()
    told = []
    if found.new:
        keys = [event.key for event in found.new]
        told.append(f"{named(keys)} made their keys for the overlay: the others are told whose they are")
    if called:
        keys = [event.key for event in called]
        told.append(f"{named(keys)} have other public addresses than before: the others are told where to call them")
    return record("; ".join(told), *found.new, *called) if told else None
