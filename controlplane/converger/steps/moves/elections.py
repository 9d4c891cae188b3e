"""Elections in vain: told with what is known of them, and at last cured by another controller (docs/operating.md).

leaders asked back, less and less often (`housekeeping`) -> in vain for healing.hungAfter -> another controller
"""

from controlplane.cluster.work_in_hand import has_work
from controlplane.converger.questions.moves.elections import IN_VAIN, elections_in_vain, prescribed_election
from controlplane.converger.questions.moves.other_controller import other_controller
from controlplane.converger.situation.decision import Decision, record
from controlplane.converger.situation.situation import Situation
from events import facts
from planner.elections import ElectionTrouble


def election_step(situation: Situation) -> Decision | None:
    """Begins the cure. None while elections succeed, while anything else is in hand, or while the gate is closed."""
    kafka = situation.seen.fresh_kafka(situation.now)
    if kafka is None or situation.seen.moves.elections.asked < IN_VAIN or has_work(situation.view):
        return None
    found = elections_in_vain(situation, kafka)
    if found is None or found.trouble is ElectionTrouble.REFUSED:
        return None
    cure, words = prescribed_election(situation, kafka)
    if cure is None:
        return None
    why = f"{found.sentence}; {words}"
    other = other_controller(situation, kafka, why)
    if other is None:
        return None
    event = facts.ElectionCureRequested(str(cure), str(found.trouble), found.partitions, why, other.key)
    return record(f"elections fail ({found.trouble}): {why}", event, other.event)
