"""The condition `WaitsForStage`: an earlier stage has the same change of its spec in hand."""

from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.stages import held_by_stage
from controlplane.converger.situation.decision import Decision
from controlplane.converger.situation.situation import Situation
from events import facts

STAGE_WAITS = "WaitsForStage"
"""The condition. Its cluster is not `Blocked`: the other one is, if anybody."""


FAILS = "StageFails"


def stage_condition(situation: Situation, decision: Decision) -> facts.ConditionChanged | None:
    """The condition. Repairs and other waits in between change nothing about it while somebody is to go before."""
    held = held_by_stage(situation)
    if held is not None and decision.wait is not None and decision.wait.reason == WaitReason.FLEET_ORDER:
        go_on = f"kedge roll {situation.view.name} --now, to go on without waiting for them"
        fails = situation.order is not None and situation.order.fails
        next_command = f". Next: mend that, or take the change back there; or {go_on}" if fails else ""
        return facts.ConditionChanged(
            STAGE_WAITS, True, FAILS if fails else WaitReason.FLEET_ORDER, f"{held.words}{next_command}"
        )
    return facts.ConditionChanged(STAGE_WAITS, False, "Free", "") if held is None or decision.is_idle else None
