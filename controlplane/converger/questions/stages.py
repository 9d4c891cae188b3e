"""Stages of the fleet: a changed spec waits until earlier stages that have the same change in hand are through with it.

What is lost, ill or down is mended meanwhile, live settings are set and what has begun is ended, as outside a window. A
person may let one generation go on without them (`kedge roll --now`).
"""

from controlplane.cluster.view import ClusterView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.questions.windows import Closed, is_waived
from controlplane.converger.situation.decision import Situation, Verdict
from controlplane.fleet.spec_order import StageWait
from events import facts

STAGE_WAITS = "WaitsForStage"
"""The condition. Its cluster is not `Blocked`: the other one is, if anybody."""

FAILS = "StageFails"


def held_by_stage(situation: Situation) -> Closed | None:
    """What keeps a changed spec from being brought about now, None when nothing does."""
    words = stage_words(situation.view, situation.order)
    return Closed(WaitReason.FLEET_ORDER, words, None) if words and situation.view.converged else None


def stage_words(view: ClusterView, order: StageWait | None) -> str:
    """For plans and descriptions; "" where nobody is waited for."""
    return order.words if order is not None and not is_waived(view) else ""


def stage_told(situation: Situation, verdict: Verdict) -> facts.ConditionChanged | None:
    """The condition. Repairs and other waits in between change nothing about it while somebody is to go before."""
    held = held_by_stage(situation)
    if held is not None and verdict.wait is not None and verdict.wait.reason == WaitReason.FLEET_ORDER:
        go_on = f"kedge roll {situation.view.name} --now, to go on without waiting for them"
        fails = situation.order is not None and situation.order.fails
        next_command = f". Next: mend that, or take the change back there; or {go_on}" if fails else ""
        return facts.ConditionChanged(
            STAGE_WAITS, True, FAILS if fails else WaitReason.FLEET_ORDER, f"{held.words}{next_command}"
        )
    return facts.ConditionChanged(STAGE_WAITS, False, "Free", "") if held is None or verdict.is_idle else None
