"""The condition `MaintenanceScheduled`: whose host goes down when."""

from controlplane.converger.questions.clouds.announced import all_notices, judged, preemptions
from controlplane.converger.situation.situation import Situation
from events import facts

MAINTENANCE = "MaintenanceScheduled"


def maintenance_condition(situation: Situation) -> facts.ConditionChanged | None:
    """The condition: whose host goes down when, and what is done about it. None where the inventory is not known."""
    inventory, taken_back = situation.seen.fresh_inventory(situation.now), preemptions(situation)
    if inventory is None and not taken_back:
        return None
    there = {i.key for i in situation.view.alive() if not i.lost}  # of a VM that is gone it is history
    here = {key: notice for key, notice in all_notices(situation, taken_back).items() if key in there}
    if not here:
        return facts.ConditionChanged(MAINTENANCE, False, "Free", "")
    _, left = judged(situation)
    reasons = {one.announced.key: f": {one.reason}" for one in left}
    named = "; ".join(f"{key}: {notice.sentence}{reasons.get(key, '')}" for key, notice in sorted(here.items())[:3])
    more = " and others" if len(here) > 3 else ""
    waits = [key for key in here if key in reasons]
    return facts.ConditionChanged(MAINTENANCE, True, "Waiting" if waits else "Announced", f"{named}{more}")
