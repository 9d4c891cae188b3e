"""Faults that people brought about end by the clock: what is over is recorded, whoever asked is there or not."""

from controlplane.converger.situation.decision import Decision, record
from controlplane.converger.situation.situation import Situation
from events import facts


def chaos_step(situation: Situation) -> Decision | None:
    """Records the end of the first fault whose time is over. What lasted has ended itself by then."""
    for chaos in situation.view.requests.chaos.values():
        if situation.seconds_since(chaos.since) >= chaos.for_s:
            outcome = f"its {chaos.for_s:g} s are over"
            sentence = f"{chaos.fault} of {', '.join(chaos.keys)} is over: {outcome}"
            return record(sentence, facts.ChaosEnded(chaos.id, outcome))
    return None
