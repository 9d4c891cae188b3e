"""The condition `WaitsForWindow`."""

from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.windows import closed_for
from controlplane.converger.situation.decision import Decision
from controlplane.converger.situation.situation import Situation
from events import facts

WAITS = "WaitsForWindow"
"""The condition. A cluster that waits for its window is not `Blocked`: nobody has to do anything."""


def window_condition(situation: Situation, decision: Decision) -> facts.ConditionChanged | None:
    """The condition. Repairs and other waits in between change nothing about it, while there is no chance."""
    shut = closed_for(situation)
    if (
        shut is not None
        and decision.wait is not None
        and decision.wait.reason in (WaitReason.WINDOW, WaitReason.FREEZE)
    ):
        return facts.ConditionChanged(WAITS, True, shut.reason, shut.words)
    return facts.ConditionChanged(WAITS, False, "Free", "") if shut is None or decision.is_idle else None
