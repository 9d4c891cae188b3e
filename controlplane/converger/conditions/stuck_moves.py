"""The conditions of moves: what hangs and why, whose it is, and elections that nobody wins."""

from controlplane.converger.questions.moves import stuck_moves
from controlplane.converger.questions.moves.elections import elections_in_vain, why_not_cured
from controlplane.converger.situation.situation import Situation
from events import facts

REASSIGNMENT_HUNG = "ReassignmentHung"
STRANGERS_MOVES = "StrangersMoves"
ELECTIONS_FAIL = "ElectionsFail"

_NAMED = 3


def reassignment_hung(situation: Situation) -> facts.ConditionChanged | None:
    """What hangs, and what is done about it or why nothing is. None while nobody knows."""
    if situation.seen.fresh_kafka(situation.now) is None:
        return None
    found = stuck_moves.hung_of(situation)
    if not found.moves:
        return facts.ConditionChanged(REASSIGNMENT_HUNG, False, "Free", "")
    first = found.moves[0]
    sentences = "; ".join(h.sentence for h in found.moves[:_NAMED])
    more = f"; and {len(found.moves) - _NAMED} more" if len(found.moves) > _NAMED else ""
    then = f". {found.refusal}" if found.refusal else ""
    message = f"{sentences}{more}{then}. Next: kedge moves {situation.view.name}"
    return facts.ConditionChanged(REASSIGNMENT_HUNG, True, str(first.diagnosis), message)


def foreign_moves_condition(situation: Situation) -> facts.ConditionChanged | None:
    """Moves that no plan of Kedge names and nobody has spoken for, once they have run for a while."""
    if situation.seen.fresh_kafka(situation.now) is None:
        return None
    refused = stuck_moves.refused_to_take_back(situation)
    if refused:
        message = (
            f"moves that are to be taken back still run: {refused}. It is asked again, every 5 min at last. "
            f"Next: kedge moves {situation.view.name}"
        )
        return facts.ConditionChanged(STRANGERS_MOVES, True, "Refused", message)
    old = [s for s in stuck_moves.foreign_moves(situation) if not s.asked and s.age >= stuck_moves.FOREIGN_GRACE]
    if not old:
        return facts.ConditionChanged(STRANGERS_MOVES, False, "Free", "")
    named = ", ".join(
        f"{s.partition.name} to {list(s.partition.target)} for {s.age.total_seconds() / 60:.0f} min"
        for s in old[:_NAMED]
    )
    more = f" and {len(old) - _NAMED} more" if len(old) > _NAMED else ""
    message = (
        f"{len(old)} moves that no plan of Kedge names are waited for: {named}{more}. "
        f"Next: kedge moves {situation.view.name}"
    )
    return facts.ConditionChanged(STRANGERS_MOVES, True, "NobodysPlan", message)


def elections_fail(situation: Situation) -> facts.ConditionChanged | None:
    """Leaders that do not come home though they were asked to, again and again."""
    kafka = situation.seen.fresh_kafka(situation.now)
    if kafka is None:
        return None
    found = elections_in_vain(situation, kafka)
    if found is None:
        return facts.ConditionChanged(ELECTIONS_FAIL, False, "Free", "")
    left = why_not_cured(situation, kafka)
    message = (
        f"{found.sentence}. It is asked again, every 5 min.{f' {left}.' if left else ''} "
        f"Next: kedge describe {situation.view.name}"
    )
    return facts.ConditionChanged(ELECTIONS_FAIL, True, str(found.trouble), message)
