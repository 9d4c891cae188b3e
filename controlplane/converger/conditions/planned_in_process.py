"""The condition `PlannedInProcess`: the plan in hand was to be made on Spark, and the server made it itself."""

from controlplane.converger.situation.situation import Situation
from events import facts

PLANNED_IN_PROCESS = "PlannedInProcess"

_ITSELF = "in-process"


def planned_in_process(situation: Situation) -> facts.ConditionChanged | None:
    """Of the plan in hand alone, and only where the server is set to plan on Spark: one that is to plan itself does
    what it was told."""
    moves, known = situation.view.moves, PLANNED_IN_PROCESS in situation.view.conditions
    plans = {
        "drain": moves.drain.plan if moves.drain is not None else None,
        "rebalance": moves.rebalance.plan if moves.rebalance is not None else None,
    }
    made = [name for name, plan in plans.items() if plan is not None and plan.engine == _ITSELF]
    if not made or situation.why_not_spark is None:
        return facts.ConditionChanged(PLANNED_IN_PROCESS, False, "Free", "") if known else None
    why = f": {situation.why_not_spark}" if situation.why_not_spark else ""
    message = (
        f"the plan of the {' and the '.join(made)} was made by the server itself, since Spark gave none{why}. It is "
        "the same plan by the same code; of a large cluster it takes the server's memory and processors. "
        "Next: kedge loop"
    )
    return facts.ConditionChanged(PLANNED_IN_PROCESS, True, "NotOnSpark", message)
