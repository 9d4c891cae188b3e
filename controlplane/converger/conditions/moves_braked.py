"""The condition `MovesBraked`: moves go slower than planned, since clients of their brokers wait."""

from controlplane.cluster.latency_brake import brake_of
from controlplane.converger.questions.moves.latency_brake import words_of
from controlplane.converger.situation.situation import Situation
from events import facts
from planner.latency_brake import Figure

MOVES_BRAKED = "MovesBraked"

_REASONS = {
    Figure.PRODUCE: "ProduceLatency",
    Figure.QUEUE: "RequestQueue",
    Figure.HANDLERS: "RequestHandlers",
    Figure.DISK: "DiskBusy",
    Figure.LAG: "ReplicaLag",
    Figure.MIN_ISR: "MinIsr",
}


def moves_braked(situation: Situation) -> facts.ConditionChanged | None:
    """Of the moves in hand alone. One that is being let go is still slower than planned: `LettingGo`. Moves that begin
    softly are nobody's trouble."""
    view, brake = situation.view, brake_of(situation.view)
    if brake.share >= 1 or brake.is_soft:
        known = MOVES_BRAKED in view.conditions
        return facts.ConditionChanged(MOVES_BRAKED, False, "Free", "") if known else None
    reason = next((reason for figure, reason in _REASONS.items() if figure == brake.figure), "LettingGo")
    message = (
        f"{words_of(situation)}. Clients go before moves; the rate comes back in steps once all figures are well below "
        f"their limits (rollout.brake). Next: kedge moves {view.name}"
    )
    return facts.ConditionChanged(MOVES_BRAKED, True, reason, message)
