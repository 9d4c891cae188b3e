"""A drain that is put off as soon as it is begun is not begun at every tick.

Each way to that is a fault of ours and is mended where it is found. Until then it costs a person a wait, and not ten
thousand events a day.
"""

from datetime import timedelta

from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.situation.decision import Decision, wait
from controlplane.converger.situation.situation import Situation
from controlplane.runtime.backoff import delay_s
from events import facts

AT_ONCE = 3
"""So many in a row may be put off before the next one waits: who stands in the way of one may change under it."""


def paced(situation: Situation, decision: Decision) -> Decision:
    """The decision; or a pause, doubled each time up to 5 min, where it begins a drain after too many that were put off
    with nothing done between them."""
    last = situation.view.moves.postponed
    if last is None or last.times < AT_ONCE or situation.view.moves.drain is not None:
        return decision
    if not any(isinstance(e, facts.DrainRequested) for e in decision.events):
        return decision
    until = last.at + timedelta(seconds=delay_s(last.times - AT_ONCE + 1))
    if situation.now >= until:
        return decision
    left_s = (until - situation.now).total_seconds()
    sentence = (
        f"{last.times} drains in a row were put off, the last one as {last.reason}; the next one in {left_s:.0f} s"
    )
    look = f"kedge describe {situation.view.name}"
    return wait(WaitReason.DRAIN_PUT_OFF, sentence, next_command=look, patience_s=60, until=until)
