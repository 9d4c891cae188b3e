"""The conditions of moves: what hangs and why, whose it is, and elections that nobody wins."""

from controlplane.converger.hungmoves import STRANGERS_GRACE, hung_of, strangers_moves
from controlplane.converger.upkeep import displaced_leaders
from controlplane.converger.verdict import Situation
from events import facts

REASSIGNMENT_HUNG = "ReassignmentHung"
STRANGERS_MOVES = "StrangersMoves"
ELECTIONS_FAIL = "ElectionsFail"

IN_VAIN = 3
"""Elections asked for in vain until it is told: the first may have met metadata that lags."""

_NAMED = 3


def reassignment_hung(situation: Situation) -> facts.ConditionChanged | None:
    """What hangs, and what is done about it or why nothing is. None while nobody knows."""
    if situation.seen.fresh_kafka(situation.now) is None:
        return None
    found = hung_of(situation)
    if not found.moves:
        return facts.ConditionChanged(REASSIGNMENT_HUNG, False, "Free", "")
    first = found.moves[0]
    told = "; ".join(h.sentence for h in found.moves[:_NAMED])
    more = f"; and {len(found.moves) - _NAMED} more" if len(found.moves) > _NAMED else ""
    then = f". {found.refusal}" if found.refusal else ""
    message = f"{told}{more}{then}. Next: kedge moves {situation.view.name}"
    return facts.ConditionChanged(REASSIGNMENT_HUNG, True, str(first.diagnosis), message)


def strangers_told(situation: Situation) -> facts.ConditionChanged | None:
    """Moves that no plan of Kedge names and nobody has spoken for, once they have run for a while."""
    if situation.seen.fresh_kafka(situation.now) is None:
        return None
    old = [s for s in strangers_moves(situation) if not s.asked and s.age >= STRANGERS_GRACE]
    if not old:
        return facts.ConditionChanged(STRANGERS_MOVES, False, "Free", "")
    told = ", ".join(
        f"{s.partition.name} to {list(s.partition.target)} for {s.age.total_seconds() / 60:.0f} min"
        for s in old[:_NAMED]
    )
    more = f" and {len(old) - _NAMED} more" if len(old) > _NAMED else ""
    message = (
        f"{len(old)} moves that no plan of Kedge names are waited for: {told}{more}. "
        f"Next: kedge moves {situation.view.name}"
    )
    return facts.ConditionChanged(STRANGERS_MOVES, True, "NobodysPlan", message)


def elections_fail(situation: Situation) -> facts.ConditionChanged | None:
    """Leaders that do not come home though they were asked to, again and again."""
    kafka, asked = situation.seen.fresh_kafka(situation.now), situation.seen.elections
    if kafka is None:
        return None
    away = displaced_leaders(kafka)
    document = situation.view.document
    patience_s = document.spec.healing.hung_after_s if document else 0.0
    lasts = asked.since is not None and situation.seconds_since(asked.since) >= patience_s
    if not away or asked.asked < IN_VAIN or not lasts:
        return facts.ConditionChanged(ELECTIONS_FAIL, False, "Free", "")
    first = kafka.by_name[away[0]]
    message = (
        f"{len(away)} partitions are not led by their first replica though it is in sync; asked {asked.asked} times. "
        f"{first.name} is led by {first.leader} instead of {first.replicas[0]}. It is asked again, every 5 min. "
        f"Next: kedge describe {situation.view.name}"
    )
    return facts.ConditionChanged(ELECTIONS_FAIL, True, "LeadersAway", message)
